"""The question at the top of the report: is it one of these? One strip of pictures for each alternative of the vote."""

from __future__ import annotations

import numpy as np

from segvote.errors import SegvoteError
from segvote.io.images import resize_labels
from segvote.report.extents import choose_images
from segvote.report.markup import escape
from segvote.report.thumbnails import format_picture, outline_segments, read_picture
from segvote.run.alternatives import DOUBTFUL, Alternatives, name_alternative, read_alternatives
from segvote.run.run import Run, format_command

SIZE = 200  # longest side of a picture in pixels


def format_alternatives(run: Run) -> str:
    """The strips as HTML, folded where the run is not in doubt or a choice was made; nothing without alternatives."""
    try:
        found = read_alternatives(run)
    except SegvoteError as error:
        return f'<p class="problem">alternatives cannot be shown: {escape(error)}</p>\n'
    if len(found) < 2:
        return ""
    is_open = run.confidence.get("level") in DOUBTFUL and not run.alternative
    last = name_alternative(len(found) - 1)
    head = "Is it one of these?" if is_open else f"Is it something else? A to {last}"
    if run.alternative:
        head = f"The masks show {name_alternative(run.alternative)}, as you chose"
    return (
        f'<details class="alternatives"{" open" if is_open else ""}><summary><h2>{head}</h2></summary>\n'
        "<p>The images of the folder <i>with</i> share more than one thing. Each row shows one of them on the same "
        f"images: bright is the object, dark is background. The masks show <b>{name_alternative(run.alternative)}</b> "
        "now. If another row shows what you mean, run the command beside it: all masks then show that. A wrong "
        "outline here and there can be corrected afterwards; <b>A</b> brings the default back.</p>\n"
        f'<div class="strip rows"><table><tbody>\n{_format_rows(run, found)}</tbody></table></div>\n</details>\n'
    )


def _format_rows(run: Run, found: Alternatives) -> str:
    """One row for each alternative, the same images in every column."""
    pictures = {index: read_picture(run.find_image(index), SIZE) for index in choose_images(run)}
    readable = {index: picture for index, picture in pictures.items() if picture is not None}
    maps = {index: resize_labels(run.read_segments(index)["labels"], one.shape[:2]) for index, one in readable.items()}
    rows = []
    for number, selected in enumerate(found.selected):
        letter, is_chosen = name_alternative(number), number == run.alternative
        cells = "".join(
            _format_cell(run, index, outline_segments(picture, maps[index], selected[run.get_slice(index)]), letter)
            for index, picture in readable.items()
        )
        rows.append(f"<tr{' class=chosen' if is_chosen else ''}>{_format_head(run, letter, is_chosen)}{cells}</tr>\n")
    return "".join(rows)


def _format_head(run: Run, letter: str, is_chosen: bool) -> str:
    notes = ["the default"] * (letter == "A") + ["shown now"] * is_chosen
    command = "" if is_chosen else f"<code>{escape(format_command(run.folder.path, 'choose', letter))}</code>"
    return f'<th scope="row"><b>{letter}</b><span>{", ".join(notes)}</span>{command}</th>'


def _format_cell(run: Run, index: int, picture: np.ndarray, letter: str) -> str:
    name = run.bags[index].name
    return f'<td title="{escape(name)}">{format_picture(picture, f"{letter} on {name}")}</td>'
