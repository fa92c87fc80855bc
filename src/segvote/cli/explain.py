"""`segvote explain`: the votes for a segment."""

from __future__ import annotations

from pathlib import Path

import typer

from segvote.cli.app import app, format_examples
from segvote.cli.options import RUN
from segvote.cli.terminal import show_progress


@app.command(
    epilog=format_examples(
        "segvote explain out cow_12",
        "segvote explain out cow_12 310,140",
        "segvote explain out cow_12 57 --html why.html",
    )
)
def explain(
    run_folder: str = RUN,
    image: str = typer.Argument(..., metavar="IMAGE", help="Name of an image of the run."),
    segment: str = typer.Argument("", metavar="[SEGMENT]", help="Its number, or a point x,y in it; default: the best."),
    html: Path | None = typer.Option(None, metavar="FILE", help="Write a page with pictures, too."),
    lines: int = typer.Option(8, min=1, help="How many votes to list on each side."),
) -> None:
    """List the votes for and against a segment; they sum to its score."""
    from segvote import api
    from segvote.io.stores import find_local_path
    from segvote.pipeline.explain import format_explanation
    from segvote.run.run import Run

    with show_progress() as progress:
        explanation = api.explain(run_folder, image, segment, html=html, progress=progress)
    typer.echo(format_explanation(explanation, Run(find_local_path(run_folder)), lines))
    if html is not None:
        typer.echo(f"page     {html}")
