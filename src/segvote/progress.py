"""Progress as a callback: the pipeline reports steps, the caller decides how to show them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

Item = TypeVar("Item")

# step, done, total
Progress = Callable[[str, int, int], None]


def ignore_progress(step: str, done: int, total: int) -> None:
    """Show nothing."""


def count_along(items: Iterable[Item], step: str, total: int, progress: Progress) -> Iterator[Item]:
    """Pass items through, reporting each one after it was used."""
    progress(step, 0, total)
    for done, item in enumerate(items, start=1):
        yield item
        progress(step, done, total)
