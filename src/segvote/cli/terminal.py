"""Progress of a command, and stop signals.

Libraries may swallow a KeyboardInterrupt, as some do while they are being imported. So a stop is remembered, and raised
again at the next report of progress. SIGTERM and SIGHUP are handled like Ctrl-C: a process that they ended at once
would leave its workers behind.
"""

from __future__ import annotations

import contextlib
import signal
import time
from collections.abc import Callable, Iterator
from types import FrameType

import typer

from segvote.progress import Progress

# Windows has no SIGHUP; SIGBREAK is its Ctrl-Break, which also comes when the window of the terminal is closed.
_NAMES = ("SIGINT", "SIGTERM", "SIGHUP", "SIGBREAK")
SIGNALS = [getattr(signal, name) for name in _NAMES if name in signal.Signals.__members__]

FIRST_LINE, NEXT_LINE = 3.0, 30.0  # seconds before the first line about a step, and between later ones

_asked: list[int] = []


def listen_for_stop() -> None:
    """Remember Ctrl-C and the other signals from now on; SIGHUP stays ignored where it is (``nohup``)."""
    _asked.clear()
    for number in SIGNALS:
        if number == signal.SIGINT or signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, _stop)


def was_asked() -> bool:
    """Whether a stop was requested."""
    return bool(_asked)


def check_stop() -> None:
    """Raise KeyboardInterrupt if a stop was requested."""
    if was_asked():
        raise KeyboardInterrupt


def find_exit_code() -> int:
    """The exit code that shells expect after the signal; that of Ctrl-C if there was none."""
    return 128 + (_asked[0] if _asked else int(signal.SIGINT))


def _stop(number: int, frame: FrameType | None) -> None:
    _asked.append(number)
    raise KeyboardInterrupt


@contextlib.contextmanager
def show_progress() -> Iterator[Progress]:
    """Give a progress callback: one bar per step at a terminal, lines in a log file or a pipe."""
    from rich.console import Console

    from segvote.io.progress_bar import draw_progress

    if not Console(stderr=True).is_terminal:
        yield LineProgress(lambda line: typer.echo(line, err=True)).report
        return
    with draw_progress(check_stop) as progress:
        yield progress


class LineProgress:
    """Progress as lines with the time left: one when a step takes long, and another every half minute."""

    def __init__(self, write: Callable[[str], None]) -> None:
        self._write = write
        self._step, self._started, self._due = "", 0.0, 0.0

    def report(self, step: str, done: int, total: int) -> None:
        check_stop()
        if step != self._step:
            self._step, self._started = step, time.monotonic()
            self._due = self._started + FIRST_LINE
        elif time.monotonic() >= self._due:
            self._due = time.monotonic() + NEXT_LINE
            self._write(f"{step}: {done} of {total}{self._format_left(done, total)}")

    def _format_left(self, done: int, total: int) -> str:
        """The time that the rest takes if it goes on like this; empty before anything is done, and at the end."""
        if not 0 < done < total:
            return ""
        seconds = (time.monotonic() - self._started) / done * (total - done)
        return f", {seconds:.0f} s left" if seconds < 90 else f", {seconds / 60:.0f} min left"
