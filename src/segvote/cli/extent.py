"""`segvote extent`: more or less of the object, in all masks of a run."""

from __future__ import annotations

import typer

from segvote.cli.annotate import print_outcome
from segvote.cli.app import app, format_examples
from segvote.cli.options import JOBS, RUN
from segvote.cli.terminal import show_progress


@app.command(epilog=format_examples("segvote extent out 4", "segvote extent out 1 --image with/cat-7.jpg"))
def extent(
    run_folder: str = RUN,
    level: int = typer.Argument(..., metavar="LEVEL", help="1 (the most distinctive part) to 6 (the whole object)."),
    image: str = typer.Option("", help="Name of an image, for it alone; default: all images."),
    jobs: int = JOBS,
) -> None:
    """Choose how much of the object the masks cover: a face or a cat, a nucleus or a cell.

    The default of `segvote annotate` is level 2. Masks, COCO file and report are written again, without a new vote.
    Undo it on the review page, or by choosing another level.
    """
    from segvote import api

    with show_progress() as progress:
        run = api.set_extent(run_folder, level, image, n_jobs=jobs, progress=progress)
    print_outcome(run)
