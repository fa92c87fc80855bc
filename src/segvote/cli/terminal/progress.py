"""Progress of a command, which ends at the next report once somebody asked it to stop."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from segvote.cli.terminal.stopping import check_stop
from segvote.io.progress_bar import draw_progress
from segvote.progress import Progress


@contextlib.contextmanager
def show_progress() -> Iterator[Progress]:
    """Give a progress callback that draws one bar per step."""
    with draw_progress(check_stop) as progress:
        yield progress
