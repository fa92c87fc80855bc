"""Progress of a command; a command that was interrupted ends at the next report."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator

import typer
from rich.console import Console

from segvote.cli.terminal.stopping import check_stop
from segvote.io.progress_bar import draw_progress
from segvote.progress import Progress

# Seconds: a step that is over sooner says nothing, a longer one says how far it is in this rhythm.
FIRST_LINE, NEXT_LINE = 3.0, 30.0


@contextlib.contextmanager
def show_progress() -> Iterator[Progress]:
    """Give a progress callback: one bar per step at a terminal, lines in a log file or a pipe."""
    if not Console(stderr=True).is_terminal:
        yield LineProgress(lambda line: typer.echo(line, err=True)).report
        return
    with draw_progress(check_stop) as progress:
        yield progress


class LineProgress:
    """A line when a step takes long, and how far it is every half minute.

    Parameters
    ----------
    write : callable
        Takes a line.
    clock : callable
        Seconds that only grow.
    """

    def __init__(self, write: Callable[[str], None], clock: Callable[[], float] = time.monotonic) -> None:
        self._write, self._clock = write, clock
        self._step, self._due = "", 0.0

    def report(self, step: str, done: int, total: int) -> None:
        check_stop()
        if step != self._step:
            self._step, self._due = step, self._clock() + FIRST_LINE
        elif self._clock() >= self._due:
            self._due = self._clock() + NEXT_LINE
            self._write(f"{step}: {done} of {total}")
