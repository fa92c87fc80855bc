"""Progress as a callback: the pipeline reports steps, the caller decides how to show them."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

Item = TypeVar("Item")

# step, done, total
Progress = Callable[[str, int, int], None]
PAUSE = 1.0  # seconds between two reports of a watcher


def ignore_progress(step: str, done: int, total: int) -> None:
    """Show nothing."""


def count_along(items: Iterable[Item], step: str, total: int, progress: Progress) -> Iterator[Item]:
    """Yield items and report each one after its use."""
    progress(step, 0, total)
    for done, item in enumerate(items, start=1):
        yield item
        progress(step, done, total)


@contextlib.contextmanager
def watch(step: str, count: Callable[[], tuple[int, int]], progress: Progress) -> Iterator[None]:
    """While the block runs, report from a thread the done and total numbers that `count` finds on disk."""
    ended = threading.Event()

    def report() -> None:
        while not ended.wait(PAUSE):
            with contextlib.suppress(OSError):  # a file is replaced as it is counted
                progress(step, *count())

    thread = threading.Thread(target=report, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
    total = count()[1]
    progress(step, total, total)
