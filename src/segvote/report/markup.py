"""HTML from the templates in ``templates/``, where every value is escaped, and figures as text.

A page is a function that computes values and calls `render`, and a template that extends ``page.html.j2`` and takes
tables and pictures from ``macros.html.j2``. Only styles, scripts and what a template made are inserted unescaped.
"""

from __future__ import annotations

import base64
import hashlib
import math
import re
from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from segvote.io.names import PERCENT
from segvote.report.tables import Bold

if TYPE_CHECKING:
    from jinja2 import Environment

FOLDERS = ("static", "templates")
PLAIN = re.compile("[ -~]*")
CONTROLS = re.compile("[\x00-\x1f\x7f-\x9f]")  # HTML forbids them


def render(template: str, **values: Any) -> str:
    """A template with its values; placed in another template, it is not escaped again."""
    from markupsafe import Markup

    return Markup(load_environment().get_template(template).render(values))


def stream(template: str, **values: Any) -> Iterator[str]:
    """As `render`, piece by piece: what a value yields is written before it yields more."""
    return load_environment().get_template(template).generate(values)


@cache
def load_environment() -> Environment:
    """The templates, with the filters and functions that they use; Jinja2 is imported when a page is written."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("segvote.report"),
        autoescape=True,
        finalize=make_readable,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    filters = (format_number, format_share, format_count, format_tenths, hash_text, quote_path, read_static)
    environment.filters |= {one.__name__: one for one in filters}
    environment.tests["bold"] = lambda cell: isinstance(cell, Bold)
    return environment


def make_readable(value: object) -> object:
    """A value as text that HTML can hold; a file may have any name. What a template made stays as it is."""
    if hasattr(value, "__html__"):
        return value
    text = str(value)
    if PLAIN.fullmatch(text):  # the quickest way for what is most of a page: its pictures
        return text
    return CONTROLS.sub("\ufffd", text.encode("utf-8", PERCENT).decode())


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


def format_count(count: int) -> str:
    """A count with commas between thousands."""
    return f"{count:,}"


def format_tenths(place: float) -> str:
    """A place or a length in a drawing, one digit after the point."""
    return f"{place:.1f}"


def quote_path(path: str) -> str:
    """A relative path as an address."""
    return quote(path, errors="surrogateescape")


def hash_text(text: str) -> str:
    """The hash by which a page's policy admits a style or a script."""
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


def read_static(name: str) -> str:
    """A style or a script that pages carry inside."""
    return (files("segvote.report") / "static" / name).read_text(encoding="utf-8")


@cache
def hash_files() -> str:
    """A hash of the templates, styles and scripts."""
    folders = [files("segvote.report") / name for name in FOLDERS]
    paths = sorted((one for folder in folders for one in folder.iterdir()), key=lambda one: one.name)
    return hashlib.sha256(b"\0".join(one.read_bytes() for one in paths)).hexdigest()
