"""`segvote update`: more images, or fewer."""

from __future__ import annotations

import typer

from segvote.cli.annotate import print_outcome
from segvote.cli.app import app, format_examples
from segvote.cli.options import RUN, PathOrUri
from segvote.cli.terminal import show_progress
from segvote.steps.workers import N_JOBS


@app.command(
    epilog=format_examples(
        "segvote update out --add-with more/cows --add-without more/fields",
        "segvote update out --remove with/blurred.jpg --remove IMG_0042",
        "segvote update out",
    )
)
def update(
    run_folder: PathOrUri = RUN,
    add_with: list[PathOrUri] = typer.Option(
        [], metavar="DIR", parser=PathOrUri, help="Folder of more images that show the object; may be repeated."
    ),
    add_without: list[PathOrUri] = typer.Option(
        [], metavar="DIR", parser=PathOrUri, help="Folder of more images that do not; may be repeated."
    ),
    remove: list[str] = typer.Option([], help="Name of an image to leave out from now on; may be repeated."),
    restore: list[str] = typer.Option([], help="Name of an image that was removed, to take it back."),
    segments: PathOrUri | None = typer.Option(
        None, metavar="DIR", parser=PathOrUri, help="Your own label maps, if the run has such."
    ),
    jobs: int = typer.Option(N_JOBS, min=1, help="Number of processes; the answer does not depend on it."),
    strict: bool = typer.Option(False, help="Stop at an unreadable image instead of reporting it."),
) -> None:
    """Add images to a run or take some out; the result is that of a fresh run, in a fraction of the time.

    Without options it looks again at the run's folders, for images that came or went, and at corrections made since.
    """
    from segvote._api import update as run_update

    with show_progress() as progress:
        run = run_update(
            run_folder,
            add_with=add_with,
            add_without=add_without,
            remove=remove,
            restore=restore,
            segments=segments,
            n_jobs=jobs,
            strict=strict,
            progress=progress,
        )
    print_outcome(run)
