"""`segvote update`: new and removed images, and corrections."""

from __future__ import annotations

import typer

from segvote.cli.annotate import print_outcome
from segvote.cli.app import app, format_examples
from segvote.cli.options import INPUT, JOBS, RUN, SCHEDULER, SEGMENTS, STRICT, option
from segvote.cli.terminal import show_progress


@app.command(epilog=format_examples("segvote update out", "segvote update out --with new/with --without new/without"))
def update(
    run_folder: str = RUN,
    with_folder: str | None = option(None, "--with", panel=INPUT, metavar="DIR", help="WITH images, if they moved."),
    without_folder: str | None = option(
        None, "--without", panel=INPUT, metavar="DIR", help="WITHOUT images, if they moved."
    ),
    segments: str | None = SEGMENTS,
    strict: bool = STRICT,
    jobs: int = JOBS,
    scheduler: str | None = SCHEDULER,
) -> None:
    """Update a run to its two folders and its corrections; only new images are segmented.

    Put images into the folders or take them out first: the result is that of a fresh run, in a fraction of the time.
    """
    from segvote import api
    from segvote.io.stores import find_local_path
    from segvote.run.run_folder import RunFolder

    folder = RunFolder(find_local_path(run_folder))
    before = folder.read_record() if folder.record_path.is_file() else None
    known = {bag.name for bag in (*before.bags, *before.predicted)} if before else set()

    with show_progress() as progress:
        run = api.update(
            run_folder,
            with_folder=with_folder,
            without_folder=without_folder,
            segments=segments,
            n_jobs=jobs,
            scheduler=scheduler,
            strict=strict,
            progress=progress,
        )
    if known:
        names = {bag.name for bag in run.all_bags}
        typer.echo(f"images   {len(names)}: {len(names - known)} came, {len(known - names)} went")
    print_outcome(run)
