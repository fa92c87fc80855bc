"""Ctrl-C that is not lost.

Python raises the interruption wherever it happens to be, also inside a library that catches everything, as some do
while they are being imported. So it is remembered, and raised again at the next sign of progress.
"""

from __future__ import annotations

import signal
from types import FrameType

__all__ = ["check_stop", "listen_for_stop"]

_asked: list[int] = []


def listen_for_stop() -> None:
    """Remember Ctrl-C from now on."""
    _asked.clear()
    signal.signal(signal.SIGINT, _stop)


def check_stop() -> None:
    """Raise KeyboardInterrupt if somebody asked to stop."""
    if _asked:
        raise KeyboardInterrupt


def _stop(number: int, frame: FrameType | None) -> None:
    _asked.append(number)
    raise KeyboardInterrupt
