"""`segvote doctor`: images that are likely mislabelled."""

from __future__ import annotations

import json

import typer

from segvote.cli.app import app, format_examples
from segvote.cli.options import JOBS
from segvote.cli.terminal import show_progress


@app.command(
    epilog=format_examples("segvote doctor with without", "segvote doctor with without --json", "segvote doctor out")
)
def doctor(
    folder: str = typer.Argument(..., metavar="WITH", help="Folder of images that show the object; or a run folder."),
    without_folder: str | None = typer.Argument(None, metavar="WITHOUT", help="Folder of images that do not."),
    as_json: bool = typer.Option(False, "--json", help="Print every image with its score as JSON."),
    lines: int = typer.Option(20, min=1, help="How many images to list."),
    jobs: int = JOBS,
) -> None:
    """Find images that are likely mislabelled, near-duplicates, and files that cannot be read."""
    from segvote import api
    from segvote.pipeline.doctor import format_diagnosis

    with show_progress() as progress:
        diagnosis = api.doctor(folder, without_folder, n_jobs=jobs, progress=progress)
    typer.echo(json.dumps(diagnosis.to_dict()) if as_json else format_diagnosis(diagnosis, lines))
