"""One thread for each matrix product, and several for independent parts of a computation.

The rounding of a product depends on how many threads share it. Where every part is computed by one thread, the number
of threads changes no result.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack, contextmanager
from threading import Lock
from typing import TypeVar

from threadpoolctl import threadpool_limits

Item = TypeVar("Item")
Result = TypeVar("Result")


class _Limit:
    """A limit of one thread for matrix products in the whole process, while any caller needs it.

    Of two `threadpool_limits` that overlap, in two threads, the first to end lifts the limit of the other. And each
    looks through all libraries of the process, which takes milliseconds; entering this one again takes none.
    """

    def __init__(self) -> None:
        self._lock, self._n_callers, self._limits = Lock(), 0, ExitStack()

    @contextmanager
    def hold(self) -> Iterator[None]:
        with self._lock:
            self._n_callers += 1
            if self._n_callers == 1:
                self._limits.enter_context(threadpool_limits(1))
        try:
            yield
        finally:
            with self._lock:
                self._n_callers -= 1
                if self._n_callers == 0:
                    self._limits.close()


_limit = _Limit()


def use_one_thread() -> AbstractContextManager[None]:
    """A context in which each matrix product is computed by one thread; it may be entered again, and by any thread."""
    return _limit.hold()


def map_in_threads(function: Callable[[Item], Result], items: Iterable[Item]) -> list[Result]:
    """``[function(item) for item in items]``, by as many threads as there are cores."""
    with use_one_thread(), ThreadPoolExecutor(os.cpu_count()) as pool:
        return list(pool.map(function, items))
