"""The bound of memory on the command line."""

from __future__ import annotations

import typer

__all__ = ["MEMORY"]

MEMORY = typer.Option(
    None, metavar="SIZE", help="Memory that the vote may take, 4GB or 500MB; what does not fit is mapped from files."
)
