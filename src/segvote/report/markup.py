"""Text to HTML: escaping, numbers and small tables; nothing from outside reaches the page except through `escape`."""

from __future__ import annotations

import html
import math
import unicodedata
from collections.abc import Iterable
from importlib.resources import files

from segvote.io.names import PERCENT


def escape(text: object) -> str:
    """Text for an element or a quoted attribute; a file may be called ``<script>.png``."""
    plain = str(text).encode("utf-8", PERCENT).decode()
    readable = "".join("\ufffd" if unicodedata.category(sign) == "Cc" else sign for sign in plain)  # HTML forbids them
    return html.escape(readable, quote=True)


def format_number(value: float) -> str:
    """Three digits that matter, whatever the scale of the voter; a real minus sign."""
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


def read_static(name: str) -> str:
    """Text of a file that pages carry inside: style, script, or a piece of markup."""
    return (files("segvote.report") / "static" / name).read_text(encoding="utf-8")
