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
from segvote.report.markup import escape, format_head, read_static
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

ICON = (
    "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'%3E%3Crect width='16' height='16' "
    "rx='4' fill='%23141852'/%3E%3Cpath d='M3 10l4-6 6 3-3 6z' fill='%23f8d350'/%3E%3C/svg%3E"
)
STATIC = ("report.css", "theme.js", "report.js", "dialog.html", "controls.html")
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
    yield _format_top(run)
    yield _format_gallery_head(run)
    areas = read_areas(run)
    yield from list_cards(run, {index: len(own) for index, own in areas.items()})
    yield f"</ol>\n</section>\n{format_objects(run, areas)}{format_figures(run)}"
    yield f'<section class="record" aria-labelledby="record">\n<h2 id="record">The run</h2>\n{format_parameters(run)}'
    script = read_static("report.js")
    yield f"</section>\n</main>\n{read_static('dialog.html')}<script>{script}</script>\n</body>\n</html>\n"


def _name_page(run: Run) -> str:
    """A hash of the result and of the static files."""
    record = run.record
    result = format_json([record.key, record.problems, record.confidence, record.segvote, record.versions])
    return hashlib.sha256("".join([result, *map(read_static, STATIC)]).encode()).hexdigest()


def _is_current(path: Path, run: Run) -> bool:
    """Whether there is a page that shows this result, by the name in its head."""
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return f'content="{_name_page(run)}"'.encode() in file.read(HEAD_BYTES)


def _format_top(run: Run) -> str:
    """The head of the page, and everything above the gallery."""
    title, settings = format_title(run), run.settings
    theme, script = read_static("theme.js"), read_static("report.js")
    named = (
        f'<meta name="segvote-page" content="{_name_page(run)}">\n<meta name="color-scheme" content="light dark">\n'
        f'<link rel="icon" href="{ICON}">\n'
    )
    method = f"Voter {settings.voter}, features {settings.features}, segmenter {settings.segmenter}"
    return (
        f"{format_head(title, read_static('report.css'), (theme, script), named)}<script>{theme}</script>\n</head>\n"
        '<body>\n<a class="skip" href="#gallery">Skip to the gallery</a>\n'
        '<header><div><p class="over">segvote report</p>\n'
        f"<h1>{escape(title)}</h1>\n<p>{escape(method)}</p></div>\n"
        '<button type="button" id="theme" hidden>Dark</button></header>\n<main>\n'
        f"{format_confidence(run)}{format_sample(run)}{format_estimate(run)}{format_alternatives(run)}"
        f"{format_extents(run)}{format_drawing(run)}{format_tiles(run)}{format_left_out(run)}"
    )


def _format_gallery_head(run: Run) -> str:
    controls = read_static("controls.html").replace("{count}", str(len(run)))
    return (
        '<section aria-labelledby="gallery">\n<div class="head"><h2 id="gallery" tabindex="-1">Gallery</h2>\n'
        "<p>Image, heat map, mask. Most uncertain masks first, then images without, highest score first.</p>\n"
        f'<p class="legend"><span>unlikely</span>{draw_heat_scale()}<span>likely</span></p></div>\n'
        f'{controls}<ol id="cards" class="{choose_ratio(run.bags)}">\n'
    )
