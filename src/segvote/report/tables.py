"""Tables of text for the terminal and Markdown: a list of rows, the first its head; `Bold` cells are the best.

`grid` of macros.html.j2 writes the same rows as HTML.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

TERMINAL = 80  # columns
NONE = "–"  # instead of a figure


class Bold(str):
    """A cell to set off."""

    __slots__ = ()


def set_off_best(rows: list[list[str]], columns: Iterable[int]) -> None:
    """Make the highest figures of some columns bold."""
    for column in columns:
        best = max((row[column] for row in rows if row[column] != NONE), key=float, default=None)
        for row in rows:
            if row[column] == best:
                row[column] = Bold(row[column])


def format_text(rows: Sequence[Sequence[str]]) -> str:
    """For terminals: columns aligned, the first to the left; columns that do not fit follow in a block below."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    blocks: list[list[int]] = [[]]
    for column, width in list(enumerate(widths))[1:]:
        if blocks[-1] and sum(widths[one] + 2 for one in [0, *blocks[-1]]) + width > TERMINAL:
            blocks.append([])
        blocks[-1].append(column)
    return "\n\n".join("\n".join(_align(row, columns, widths) for row in rows) for columns in blocks)


def _align(row: Sequence[str], columns: Iterable[int], widths: Sequence[int]) -> str:
    cells = [row[0].ljust(widths[0]), *(row[column].rjust(widths[column]) for column in columns)]
    return "  ".join(cells).rstrip()


def format_markdown(rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table."""
    head, *body = [[_format_markdown_cell(cell) for cell in row] for row in rows]
    rule = ["---", *["---:"] * (len(head) - 1)]
    return "\n".join("| " + " | ".join(row) + " |" for row in [head, rule, *body]) + "\n"


def _format_markdown_cell(cell: str) -> str:
    text = cell.replace("|", "\\|")
    return f"**{text}**" if isinstance(cell, Bold) else text
