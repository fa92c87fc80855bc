"""`segvote extent`: more or less of the object, in all masks of a run."""

from __future__ import annotations

import typer

from segvote.cli.annotate import print_outcome
from segvote.cli.app import app, format_examples
from segvote.cli.options import JOBS, RUN
from segvote.cli.terminal import show_progress
from segvote.method.extents import N_EXTENTS


@app.command(epilog=format_examples("segvote extent out 4", "segvote extent out 1 --image with/cat-7.jpg"))
def extent(
    run_folder: str = RUN,
    extent: int = typer.Argument(
        ..., metavar="EXTENT", help=f"1 (the most distinctive part) to {N_EXTENTS} (the whole object)."
    ),
    image: str = typer.Option("", help="Name of an image, for it alone; default: all images."),
    jobs: int = JOBS,
) -> None:
    """Choose how much of the object the masks cover: a face or a cat, a nucleus or a cell.

    The default is that of `segvote annotate`. Masks, COCO file and report are written again, without a new vote.
    Undo it on the review page, or by choosing another extent.
    """
    from segvote import api

    with show_progress() as progress:
        run = api.set_extent(run_folder, extent, image, n_jobs=jobs, progress=progress)
    print_outcome(run)
