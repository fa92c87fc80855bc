"""The frame of the pages about experiments: the report's style, sections one below the other, tables of figures."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from importlib.resources import files

from segvote.report.markup import escape

__all__ = ["format_grid", "format_page"]

STYLE = """
main section { margin: 0 0 40px; }
.scroll { overflow-x: auto; background: var(--surface); border: 1px solid var(--line); border-radius: 12px;
  padding: 6px 16px 10px; }
.grid { margin-top: 4px; }
.grid th, .grid td { overflow-wrap: normal; white-space: nowrap; }
.grid tbody th { width: auto; color: var(--ink); }
.grid td, .grid thead th:not(:first-child) { text-align: right; }
.grid tr.best th, .grid tr.best td { font-weight: 650; }
.words td, .words thead th:not(:first-child) { text-align: left; white-space: normal; overflow-wrap: anywhere; }
.lines { display: block; width: 100%; max-width: 760px; height: auto; }
.curves { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 520px), 1fr)); gap: 16px; }
.curves figure, .heat { background: var(--surface); border: 1px solid var(--line); border-radius: 12px; padding: 14px; }
.heat { overflow-x: auto; }
.heat td, .heat th { padding: 2px; border: 0; white-space: nowrap; }
.heat img { display: block; border-radius: 4px; }
main p { color: var(--quiet); max-width: 90ch; margin: 8px 0; }
pre { overflow-x: auto; background: var(--surface); border: 1px solid var(--line); border-radius: 8px; padding: 12px; }
"""


def format_page(title: str, subtitle: str, sections: Iterable[tuple[str, str]]) -> str:
    """A whole page; a section is its heading (text) and its content (HTML)."""
    body = "".join(f"<section><h2>{escape(head)}</h2>\n{content}</section>\n" for head, content in sections)
    style = (files("segvote.report") / "static" / "report.css").read_text(encoding="utf-8") + STYLE
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
