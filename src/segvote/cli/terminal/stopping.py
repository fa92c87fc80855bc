"""Ctrl-C that is not lost; and to be asked to end, or to lose one's terminal, is the same as Ctrl-C.

Python raises the interruption wherever it happens to be, also inside a library that catches everything, as some do
while they are being imported. So it is remembered, and raised again at the next sign of progress. A process that a
signal ended without further ado would leave its worker processes behind.
"""

from __future__ import annotations

import signal
from types import FrameType

SIGNALS = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if name in signal.Signals.__members__]

_asked: list[int] = []


def listen_for_stop() -> None:
    """Remember Ctrl-C and the other signals from now on; a lost terminal that is ignored (``nohup``) stays so."""
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
    """The exit code by which shells know the signal that asked to stop; that of Ctrl-C where none did."""
    return 128 + (_asked[0] if _asked else int(signal.SIGINT))


def _stop(number: int, frame: FrameType | None) -> None:
    _asked.append(number)
    raise KeyboardInterrupt
