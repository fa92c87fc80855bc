"""One thread for the libraries below NumPy: how a sum is rounded depends on how many threads share it."""

from __future__ import annotations

import functools
import sys
from contextlib import AbstractContextManager
from typing import Any

from threadpoolctl import ThreadpoolController


def limit_threads() -> AbstractContextManager[Any]:
    """Context in which BLAS and OpenMP have one thread.

    `threadpool_limits` reads the list of all files in memory each time, some milliseconds where the sum itself takes
    less; here the libraries are looked for again only after modules were imported, as a library comes with its module.
    """
    return _find_libraries(len(sys.modules)).limit(limits=1)


@functools.lru_cache(maxsize=1)
def _find_libraries(_n_modules: int) -> ThreadpoolController:
    return ThreadpoolController()
