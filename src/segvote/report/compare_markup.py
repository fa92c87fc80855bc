"""The frame of the pages about experiments: the report's style, sections one below the other, tables of figures."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from segvote.report.compare_tables import Bold
from segvote.report.markup import escape, read_static


def format_page(title: str, subtitle: str, sections: Iterable[tuple[str, str]]) -> str:
    """A whole page; a section is its heading (text) and its content (HTML)."""
    body = "".join(f"<section><h2>{escape(head)}</h2>\n{content}</section>\n" for head, content in sections)
    style = "\n".join(read_static(name) for name in ("report.css", "compare.css"))
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta http-equiv="Content-Security-Policy" content="default-src \'none\'; img-src data:; '
        "style-src 'unsafe-inline'\">\n"
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)} – segvote</title>\n<style>{style}</style>\n</head>\n<body>\n"
        f'<header><div><p class="over">segvote</p>\n<h1>{escape(title)}</h1>\n'
        f"<p>{escape(subtitle)}</p></div></header>\n"
        f"<main>\n{body}</main>\n</body>\n</html>\n"
    )


def format_grid(
    heads: Sequence[str], rows: Iterable[Sequence[str]], best: int | None = None, words: bool = False
) -> str:
    """A table; cells are HTML, the first of each row is its name. `best` is the number of a row to set off.

    With `words` the cells are sentences instead of figures.
    """
    head = "".join(f'<th scope="col">{cell}</th>' for cell in heads)
    lines = []
    for number, (name, *cells) in enumerate(rows):
        mark = ' class="best"' if number == best else ""
        values = "".join(f"<td>{cell}</td>" for cell in cells)
        lines.append(f'<tr{mark}><th scope="row">{name}</th>{values}</tr>\n')
    kind = "grid words" if words else "grid"
    return (
        f'<div class="scroll"><table class="{kind}"><thead><tr>{head}</tr></thead><tbody>\n{"".join(lines)}'
        "</tbody></table></div>\n"
    )


def format_rows(rows: Sequence[Sequence[str]], best: int | None = None, words: bool = False) -> str:
    """The same of a table of text, the first row its head."""
    heads, *body = [[f"<b>{escape(one)}</b>" if isinstance(one, Bold) else escape(one) for one in row] for row in rows]
    return format_grid(heads, body, best, words)
