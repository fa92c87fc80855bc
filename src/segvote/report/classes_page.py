"""The page of a run on several classes: a table of the classes, some masks of each, and links to their own reports."""

from __future__ import annotations

from pathlib import Path
from statistics import median
from urllib.parse import quote

from segvote.io.exports.index_pictures import make_voc_palette
from segvote.io.files import write_text
from segvote.method.confidence import UNCERTAIN
from segvote.report.gallery import count_false_positives
from segvote.report.markup import escape, format_grid, format_page, format_share
from segvote.report.summary import format_problems
from segvote.report.thumbnails import format_triplet
from segvote.run.classes import ClassRuns
from segvote.run.run import Run
from segvote.types import WITH

N_PICTURES = 6
PICTURE_SIZE, PICTURE_BYTES = 200, 40_000
HEADS = ("class", "number and colour", "images with", "without", "median area", "uncertain", "false positives")
EXPLANATION = (
    "<p>The images of the other classes and those of <em>none</em> are the negatives of each class. In "
    "<code>masks/</code> each image has one picture with the number of the class at every pixel, 0 for background.</p>"
)


def write_classes_report(runs: ClassRuns) -> Path:
    """Write ``report.html``, which links ``classes/NAME/report.html``; the same content is not written again."""
    rows = [_list_cells(number, name, run) for number, (name, run) in enumerate(runs.runs.items(), 1)]
    sections = [("Classes", format_grid(HEADS, rows) + EXPLANATION)]
    sections += [(name, _format_pictures(name, run)) for name, run in runs.runs.items()]
    sections.append(("Files", format_problems(runs.record.problems)))
    subtitle = f"{len(runs)} images; voter {runs.settings.voter}, features {runs.settings.features}"
    path, page = runs.folder.report_path, format_page(", ".join(runs.names), subtitle, sections)
    if not path.is_file() or path.read_text(encoding="utf-8", errors="replace") != page:
        write_text(path, page)
    return path


def _list_cells(number: int, name: str, run: Run) -> list[str]:
    shown = [bag for bag in run.bags if bag.bag_label == WITH]
    colour = ", ".join(map(str, make_voc_palette()[number]))
    swatch = (
        f'<svg width="14" height="14" role="img" aria-label="colour {number}">'
        f'<rect width="14" height="14" rx="3" fill="rgb({colour})"/></svg>'
    )
    return [
        _format_link(name),
        f"{number} {swatch}",
        f"{len(shown):,}",
        f"{len(run) - len(shown):,}",
        format_share(median(bag.area for bag in shown)),
        f"{sum(bag.uncertainty >= UNCERTAIN for bag in shown):,}",
        f"{count_false_positives(run.bags):,}",
    ]


def _format_link(name: str) -> str:
    return f'<a href="classes/{quote(name, errors="surrogateescape")}/report.html"><bdi>{escape(name)}</bdi></a>'


def _format_pictures(name: str, run: Run) -> str:
    """The least uncertain masks of a class."""
    chosen = [index for index, bag in enumerate(run.bags) if bag.bag_label == WITH and bag.n_selected]
    surest = sorted(chosen, key=lambda index: run.bags[index].uncertainty)[:N_PICTURES]
    masks = "".join(format_triplet(run, index, PICTURE_SIZE, PICTURE_BYTES)[2] for index in surest)
    return f'<div class="pictures">{masks}</div><p>All images: {_format_link(name)}</p>\n'
