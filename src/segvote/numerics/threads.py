"""One thread for each matrix product, and several for independent parts of a computation.

The rounding of a product depends on how many threads share it. Where every part is computed by one thread, the number
of threads changes no result.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack, contextmanager
from functools import lru_cache
from threading import Lock
from typing import TypeVar

from threadpoolctl import ThreadpoolController

# Numbers that all threads of a computation hold together: 256 MB of float64.
MOST_NUMBERS = 1 << 25

Item = TypeVar("Item")
Result = TypeVar("Result")
One = TypeVar("One")
Other = TypeVar("Other")


class _Limit:
    """A limit of one thread for matrix products in the whole process, while any caller needs it.

    Of two `threadpool_limits` that overlap, in two threads, the first to end lifts the limit of the other.
    """

    def __init__(self) -> None:
        self._lock, self._n_callers, self._limits = Lock(), 0, ExitStack()

    @contextmanager
    def hold(self) -> Iterator[None]:
        with self._lock:
            self._n_callers += 1
            if self._n_callers == 1:
                self._limits.enter_context(_find_libraries(len(sys.modules)).limit(limits=1))
        try:
            yield
        finally:
            with self._lock:
                self._n_callers -= 1
                if self._n_callers == 0:
                    self._limits.close()


@lru_cache(maxsize=1)
def _find_libraries(_n_modules: int) -> ThreadpoolController:
    """The libraries of the process, looked for again once modules were imported: a library comes with its module.

    To look for them takes some milliseconds, where a product may take less.
    """
    return ThreadpoolController()


_limit = _Limit()


def use_one_thread() -> AbstractContextManager[None]:
    """A context in which each matrix product is computed by one thread; it may be entered again, and by any thread."""
    return _limit.hold()


def map_in_threads(function: Callable[[Item], Result], items: Iterable[Item], n_numbers: int = 0) -> list[Result]:
    """``[function(item) for item in items]``, by a thread for each core.

    Where each call holds so many numbers that all together would exceed `MOST_NUMBERS`, there are fewer threads.
    """
    with use_one_thread(), ThreadPoolExecutor(_count_threads(n_numbers)) as pool:
        return list(pool.map(function, items))


def call_both(one: Callable[[], One], other: Callable[[], Other], n_numbers: int = 0) -> tuple[One, Other]:
    """``one(), other()``, at the same time unless they hold too many numbers, as for `map_in_threads`."""
    if _count_threads(n_numbers) == 1:
        return one(), other()
    with use_one_thread(), ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(other)
        return one(), waiting.result()


def _count_threads(n_numbers: int) -> int:
    return max(1, min(os.cpu_count() or 1, MOST_NUMBERS // max(n_numbers, 1)))
