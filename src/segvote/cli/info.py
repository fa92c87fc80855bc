"""`segvote info`: versions and names of parts, for a bug report."""

from __future__ import annotations

import os
import platform
import sys
from pathlib import Path

import typer

import segvote
from segvote.cli.app import app, format_examples
from segvote.run.record import ABSENT, find_version, list_versions

# Extra to the package that shows whether it is installed.
EXTRAS = {
    "video": "av",
    "web": "starlette",
    "dask": "distributed",
    "stores": "fsspec",
    "notebook": "matplotlib",
    "torch": "transformers",
}


@app.command(epilog=format_examples("segvote info"))
def info() -> None:
    """Print versions, which extras are missing, and the names of voters, features, segmenters and export formats.

    Reads only; put it into a bug report.
    """
    typer.echo(f"{'segvote':<26}{segvote.__version__}, {Path(segvote.__file__).parent}")
    typer.echo(f"{'system':<26}{platform.platform()}, {os.cpu_count()} cores, {sys.executable}")
    for name, number in list_versions().items():
        typer.echo(f"{name:<26}{number}")
    for extra, package in EXTRAS.items():
        number = find_version(package)
        missing = f"; pip install 'segvote[{extra}]'" if number == ABSENT else ""
        typer.echo(f"{f'{package} [{extra}]':<26}{number}{missing}")
    for part in ("voters", "features", "segmenters", "exports"):
        typer.echo(f"{part:<26}{', '.join(getattr(segvote, part.upper()))}")
