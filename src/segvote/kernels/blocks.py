"""Work in blocks of rows, each computed by one thread: the number of threads cannot change how sums are rounded."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from threadpoolctl import threadpool_limits

Item = TypeVar("Item")
Result = TypeVar("Result")


def list_blocks(n: int, size: int) -> list[slice]:
    """Slices of at most `size` that make up 0 to n."""
    return [slice(start, min(start + size, n)) for start in range(0, n, size)]


def run_blocks(function: Callable[[Item], Result], blocks: Sequence[Item]) -> Iterator[Result]:
    """Yield ``function(block)`` for every block in order, by as many threads as there are cores."""
    if len(blocks) == 1:
        # All threads may help: with one block there is nothing that their number could change.
        yield function(blocks[0])
        return
    # OpenMP has a number of threads for every thread, BLAS one for all.
    with threadpool_limits(1), ThreadPoolExecutor(os.cpu_count(), initializer=_compute_alone) as pool:
        yield from pool.map(function, blocks)


def _compute_alone() -> None:
    import faiss

    faiss.omp_set_num_threads(1)
