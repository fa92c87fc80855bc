"""`segvote update`: new and removed images, and corrections."""

from __future__ import annotations

from segvote.cli.annotate import print_outcome
from segvote.cli.app import app, format_examples
from segvote.cli.options import JOBS, RUN, SEGMENTS, STRICT
from segvote.cli.terminal import show_progress


@app.command(epilog=format_examples("segvote update out", "segvote update out --segments maps"))
def update(run_folder: str = RUN, segments: str | None = SEGMENTS, strict: bool = STRICT, jobs: int = JOBS) -> None:
    """Look again at the two folders of a run and at corrections made since; only new images are segmented.

    Put images into the folders or take them out first: the result is that of a fresh run, in a fraction of the time.
    """
    from segvote._api import update as run_update

    with show_progress() as progress:
        run = run_update(run_folder, segments=segments, n_jobs=jobs, strict=strict, progress=progress)
    print_outcome(run)
