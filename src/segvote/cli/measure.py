"""`segvote measure`: a table of the objects of a run."""

from __future__ import annotations

from pathlib import Path

import typer

from segvote.cli.app import app, format_examples
from segvote.cli.options import RUN
from segvote.cli.terminal import show_progress
from segvote.io.names import make_plain


@app.command(epilog=format_examples("segvote measure out", "segvote measure out -o objects.parquet"))
def measure(
    run_folder: str = RUN,
    out: Path | None = typer.Option(
        None, "-o", "--out", metavar="FILE", help="Table to write, .csv or .parquet; default RUN/measurements.csv."
    ),
) -> None:
    """Measure every object: area, box, centre, length, width, orientation, colour."""
    from segvote import api
    from segvote.pipeline.measure import FILE_NAME

    with show_progress() as progress:
        columns = api.measure(run_folder, out, progress=progress)
    typer.echo(f"objects  {len(columns['object'])}")
    typer.echo(f"table    {make_plain(out or f'{run_folder}/{FILE_NAME}')}")
