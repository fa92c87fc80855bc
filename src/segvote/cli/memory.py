"""The bound of memory on the command line."""

from __future__ import annotations

from segvote.cli.options import SCALE, option

__all__ = ["MEMORY"]

MEMORY = option(
    None,
    panel=SCALE,
    metavar="SIZE",
    help="Memory that the vote may take, 4GB or 500MB; the rest is mapped from files.",
)
