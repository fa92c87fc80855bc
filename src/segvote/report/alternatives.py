"""The question at the top of the report: is it one of these? One strip of pictures for each alternative of the vote."""

from __future__ import annotations

from dataclasses import dataclass

from segvote.errors import SegvoteError
from segvote.io.images import resize_labels
from segvote.report.extents import choose_images
from segvote.report.markup import render
from segvote.report.thumbnails import Picture, make_picture, outline_segments, read_picture
from segvote.run.alternatives import ASKED_LEVELS, Alternatives, name_alternative, read_alternatives
from segvote.run.run import Run, format_command

SIZE = 200  # longest side of a picture in pixels


@dataclass(frozen=True)
class Row:
    """One alternative: its letter, the command that shows it, and pictures by the names of their images."""

    letter: str
    notes: list[str]
    command: str
    pictures: list[tuple[str, Picture]]


def format_alternatives(run: Run) -> str:
    """The strips as HTML, folded where the confidence is high or a choice was made; nothing without alternatives."""
    try:
        alternatives = read_alternatives(run)
    except SegvoteError as error:
        return render("problem.html.j2", part="alternatives", reason=error)
    if len(alternatives) < 2:
        return ""
    return render(
        "alternatives.html.j2",
        rows=_list_rows(run, alternatives),
        shown=name_alternative(run.alternative),
        has_choice=run.alternative > 0,
        is_open=run.confidence.get("level") in ASKED_LEVELS and not run.alternative,
    )


def _list_rows(run: Run, alternatives: Alternatives) -> list[Row]:
    """One row for each alternative, the same images in every column."""
    pictures = {index: read_picture(run.find_image(index), SIZE) for index in choose_images(run)}
    readable = {index: picture for index, picture in pictures.items() if picture is not None}
    maps = {index: resize_labels(run.read_segments(index)["labels"], one.shape[:2]) for index, one in readable.items()}
    rows = []
    for number, selected in enumerate(alternatives.selected):
        letter, shown = name_alternative(number), []
        for index, picture in readable.items():
            name, outlined = (
                run.bags[index].name,
                outline_segments(picture, maps[index], selected[run.get_slice(index)]),
            )
            shown.append((name, make_picture(outlined, f"{letter} on {name}")))
        notes = ["the default"] * (number == 0) + ["shown now"] * (number == run.alternative)
        rows.append(Row(letter, notes, format_command(run.folder.path, "choose", letter), shown))
    return rows
