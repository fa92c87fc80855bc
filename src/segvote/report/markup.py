"""HTML: escaping, numbers, tables and whole pages; file names and messages reach a page through `escape` only."""

from __future__ import annotations

import base64
import hashlib
import html
import math
import unicodedata
from collections.abc import Iterable, Sequence
from importlib.resources import files

from segvote.io.names import PERCENT


def escape(text: object) -> str:
    """Text for an element or a quoted attribute; a file may be called ``<script>.png``."""
    plain = str(text).encode("utf-8", PERCENT).decode()
    readable = "".join("\ufffd" if unicodedata.category(sign) == "Cc" else sign for sign in plain)  # HTML forbids them
    return html.escape(readable, quote=True)


def format_number(value: float) -> str:
    """Three significant digits and a real minus sign."""
    if not math.isfinite(value):
        return "–"
    text = f"{value:.3f}" if 0.001 <= abs(value) < 100 else f"{value:.3g}"
    return ("0" if float(text) == 0 else text).replace("-", "\u2212")


def format_share(share: float) -> str:
    """A share in percent: 12 %, 1.2 %, 0.3 %."""
    percent = 100 * share
    return f"{percent:.0f} %" if percent >= 10 or percent == 0 else f"{percent:.2g} %"


def format_table(rows: Iterable[tuple[str, str]], caption: str) -> str:
    """Two columns, a name and its value, both already HTML."""
    body = "".join(f'<tr><th scope="row">{name}</th><td>{value}</td></tr>\n' for name, value in rows)
    return f"<table><caption>{caption}</caption><tbody>\n{body}</tbody></table>\n"


def format_grid(
    heads: Sequence[str], rows: Iterable[Sequence[str]], best: int | None = None, words: bool = False
) -> str:
    """A table of HTML cells, the first of each row its name; `best` is the number of a row to set off.

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


def format_head(title: str, style: str, scripts: Sequence[str] = (), more: str = "") -> str:
    """The head of a page up to its style; a policy admits the style and the scripts by their hashes, nothing else."""
    admitted = " ".join(map(_hash, scripts)) or "'none'"
    policy = (
        f"default-src 'none'; img-src data:; media-src 'self' file:; style-src {_hash(style)}; script-src {admitted}; "
        "base-uri 'none'; form-action 'none'"
    )
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"{more}<title>{escape(title)} – segvote</title>\n<style>{style}</style>\n"
    )


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def format_page(title: str, subtitle: str, sections: Iterable[tuple[str, str]]) -> str:
    """A self-contained page without scripts; a section is its heading (text) and its content (HTML)."""
    body = "".join(f"<section><h2>{escape(head)}</h2>\n{content}</section>\n" for head, content in sections)
    style = "\n".join(read_static(name) for name in ("report.css", "compare.css"))
    return (
        f'{format_head(title, style)}</head>\n<body>\n<header><div><p class="over">segvote</p>\n'
        f"<h1>{escape(title)}</h1>\n<p>{escape(subtitle)}</p></div></header>\n"
        f"<main>\n{body}</main>\n</body>\n</html>\n"
    )


def read_static(name: str) -> str:
    """A file that pages carry inside: style, script, or a piece of markup."""
    return (files("segvote.report") / "static" / name).read_text(encoding="utf-8")
