"""`segvote choose`: something else that the images share, as the object of a run."""

from __future__ import annotations

import typer

from segvote.cli.annotate import print_outcome
from segvote.cli.app import app, format_examples
from segvote.cli.options import JOBS, RUN
from segvote.cli.terminal import show_progress


@app.command(epilog=format_examples("segvote choose out C", "segvote choose out A"))
def choose(
    run_folder: str = RUN,
    alternative: str = typer.Argument(..., metavar="LETTER", help="Letter in the report; A is the default."),
    jobs: int = JOBS,
) -> None:
    """Choose what the masks show, where the run found the wrong thing: the water, not the houses.

    The report shows what else the images of WITH share under *Is it one of these?*, each with a letter. Masks, COCO
    file, model and report are written again. Undo it on the review page, or by choosing A.
    """
    from segvote import api

    with show_progress() as progress:
        run = api.choose(run_folder, alternative, n_jobs=jobs, progress=progress)
    print_outcome(run)
