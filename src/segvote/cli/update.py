"""`segvote update`: images that came or went, and corrections."""

from __future__ import annotations

import typer

from segvote.cli.annotate import print_outcome
from segvote.cli.app import app, format_examples
from segvote.cli.options import RUN, PathOrUri
from segvote.cli.terminal import show_progress
from segvote.steps.workers import N_JOBS


@app.command(epilog=format_examples("segvote update out", "segvote update out --segments maps"))
def update(
    run_folder: PathOrUri = RUN,
    segments: PathOrUri | None = typer.Option(
        None, metavar="DIR", parser=PathOrUri, help="Your own label maps, if the run has such."
    ),
    jobs: int = typer.Option(N_JOBS, min=1, help="Number of processes; the answer does not depend on it."),
    strict: bool = typer.Option(False, help="Stop at an unreadable image instead of reporting it."),
) -> None:
    """Look again at the two folders of a run and at corrections made since; only new images are segmented.

    Put images into the folders or take them out first: the result is that of a fresh run, in a fraction of the time.
    """
    from segvote._api import update as run_update

    with show_progress() as progress:
        run = run_update(run_folder, segments=segments, n_jobs=jobs, strict=strict, progress=progress)
    print_outcome(run)
