"""The page of a run on several classes: a table of the classes, some masks of each, and links to their own reports."""

from __future__ import annotations

from pathlib import Path
from statistics import median
from typing import Any

from segvote.io.exports.index_pictures import make_voc_palette
from segvote.io.files import write_text
from segvote.method.confidence import UNCERTAIN
from segvote.report.gallery import count_false_positives
from segvote.report.markup import render
from segvote.report.summary import list_unreadable
from segvote.report.thumbnails import Picture, make_triplet
from segvote.run.classes import ClassRuns
from segvote.run.run import Run
from segvote.types import WITH

N_PICTURES = 6
PICTURE_SIZE, PICTURE_BYTES = 200, 40_000


def write_classes_report(runs: ClassRuns) -> Path:
    """Write ``report.html``, which links ``classes/NAME/report.html``; the same content is not written again."""
    page = render(
        "classes.html.j2",
        title=", ".join(runs.names),
        subtitle=f"{len(runs)} images; voter {runs.settings.voter}, features {runs.settings.features}",
        classes=[_describe_class(number, name, run) for number, (name, run) in enumerate(runs.runs.items(), 1)],
        problems=list_unreadable(runs.record.problems),
    )
    path = runs.folder.report_path
    if not path.is_file() or path.read_text(encoding="utf-8", errors="replace") != page:
        write_text(path, page)
    return path


def _describe_class(number: int, name: str, run: Run) -> dict[str, Any]:
    shown = [bag for bag in run.bags if bag.bag_label == WITH]
    return {
        "name": name,
        "colour": make_voc_palette()[number],
        "n_with": len(shown),
        "n_without": len(run) - len(shown),
        "area": median(bag.area for bag in shown),
        "n_uncertain": sum(bag.uncertainty >= UNCERTAIN for bag in shown),
        "n_false": count_false_positives(run.bags),
        "masks": _list_masks(run),
    }


def _list_masks(run: Run) -> list[Picture]:
    """The least uncertain masks of a class."""
    chosen = [index for index, bag in enumerate(run.bags) if bag.bag_label == WITH and bag.n_selected]
    surest = sorted(chosen, key=lambda index: run.bags[index].uncertainty)[:N_PICTURES]
    masks = (make_triplet(run, index, PICTURE_SIZE, PICTURE_BYTES)[2] for index in surest)
    return [mask for mask in masks if mask is not None]
