"""The report of a run: one self-contained page with style, script, pictures and figures inside.

The page is written part by part, so memory does not grow with the number of images. Equal runs give equal bytes.
Scripts and styles are admitted by their hashes alone, so that nothing in a file name can run.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path

from segvote.io.files import atomic_path
from segvote.io.names import PERCENT
from segvote.io.tables import format_json
from segvote.report.alternatives import format_alternatives
from segvote.report.extents import format_extents
from segvote.report.figures import draw_heat_scale
from segvote.report.gallery import choose_ratio, list_cards
from segvote.report.markup import hash_files, stream
from segvote.report.objects import format_objects, read_areas
from segvote.report.summary import (
    format_confidence,
    format_drawing,
    format_estimate,
    format_figures,
    format_left_out,
    format_parameters,
    format_sample,
    format_tiles,
    format_title,
)
from segvote.run.run import Run

HEAD_BYTES = 4096  # the name of the result that a page shows stands within these


def write_report(run: Run) -> Path:
    """Write ``report.html`` into the run folder; a page of the same result is not written again."""
    path = run.folder.report_path
    if _is_current(path, run):
        return path
    with atomic_path(path) as temporary, temporary.open("w", encoding="utf-8", errors=PERCENT, newline="\n") as file:
        file.writelines(list_parts(run))
    return path


def list_parts(run: Run) -> Iterator[str]:
    """The page from top to bottom, one card at a time."""
    settings, areas = run.settings, read_areas(run)
    return stream(
        "report.html.j2",
        page_name=_name_page(run),
        title=format_title(run),
        subtitle=f"Voter {settings.voter}, features {settings.features}, segmenter {settings.segmenter}",
        confidence=format_confidence(run),
        sample=format_sample(run),
        estimate=format_estimate(run),
        alternatives=format_alternatives(run),
        extents=format_extents(run),
        drawing=format_drawing(run),
        tiles=format_tiles(run),
        left_out=format_left_out(run),
        heat_scale=draw_heat_scale(),
        ratio=choose_ratio(run.bags),
        n_images=len(run),
        cards=list_cards(run, {index: len(own) for index, own in areas.items()}),
        objects=format_objects(run, areas),
        figures=format_figures(run),
        parameters=format_parameters(run),
    )


def _name_page(run: Run) -> str:
    """A hash of the result and of the files that every page is made from."""
    record = run.record
    result = format_json([record.key, record.problems, record.confidence, record.segvote, record.versions])
    return hashlib.sha256(f"{result}{hash_files()}".encode()).hexdigest()


def _is_current(path: Path, run: Run) -> bool:
    """Whether there is a page that shows this result, by the name in its head."""
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return f'content="{_name_page(run)}"'.encode() in file.read(HEAD_BYTES)
