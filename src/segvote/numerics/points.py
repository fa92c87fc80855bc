"""Points: checked, centred in float32, searched in blocks of rows, candidates measured pair by pair.

Every block is computed by one thread, so that the number of threads cannot change how sums are rounded.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from segvote.errors import BadInputError
from segvote.numerics.threads import use_one_thread

# Bag numbers of the queries and of the voters.
Bags = tuple[np.ndarray, np.ndarray]
# Distances measured at once: they stay in the processor's cache.
PAIRS_AT_ONCE = 1 << 18


def list_blocks(n: int, size: int) -> list[slice]:
    """Slices of at most `size` that make up 0 to n."""
    return [slice(start, min(start + size, n)) for start in range(0, n, size)]


def split_numbers(numbers: np.ndarray, size: int) -> list[np.ndarray]:
    """Blocks of at most `size` of them."""
    return [numbers[rows] for rows in list_blocks(len(numbers), size)]


def search_in_blocks(
    search: Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]], blocks: Sequence[np.ndarray], k: int
) -> tuple[np.ndarray, np.ndarray]:
    """Results of `search` for blocks that hold the number of each query once, by as many threads as there are cores."""
    n_queries = sum(map(len, blocks))
    squared, indices = np.empty((n_queries, k)), np.empty((n_queries, k), np.int64)
    # All threads may help where there is one block: there is nothing that their number could change. Otherwise OpenMP
    # has a number of threads for every thread, BLAS one for all.
    limits = use_one_thread() if len(blocks) > 1 else contextlib.nullcontext()
    with limits, ThreadPoolExecutor(os.cpu_count(), initializer=_compute_alone) as pool:
        results = map(search, blocks) if len(blocks) == 1 else pool.map(search, blocks)
        for rows, (distances, numbers) in zip(blocks, results, strict=True):
            squared[rows], indices[rows] = distances, numbers
    return squared, indices


def _compute_alone() -> None:
    import faiss

    faiss.omp_set_num_threads(1)


def check_finite(**arrays: np.ndarray) -> None:
    """Reject NaN and infinity, naming the array and the first row that has one."""
    for name, array in arrays.items():
        # The sum is finite exactly when all entries are (or nearly overflow), and needs no array of its own.
        with np.errstate(over="ignore", invalid="ignore"):
            if np.isfinite(array.sum(dtype=np.float64)):
                continue
        bad = ~np.isfinite(array.reshape(len(array), -1)).all(axis=1)
        if bad.any():
            raise BadInputError(
                f"{name} must be finite numbers; row {int(np.argmax(bad))} holds NaN or infinity. Remove or replace it"
            )


def centre_points(points: np.ndarray, centre: np.ndarray) -> np.ndarray:
    """Points about a centre in float32."""
    # Of float64 points the centre may be all but the last digits: it goes before they do. Float32 has no more to lose.
    kind = np.float32 if points.dtype == np.float32 else np.float64
    out = np.empty(points.shape, dtype=np.float32)
    return np.subtract(points, centre, out=out, dtype=kind, casting="same_kind")


def keep_nearest(
    queries: np.ndarray, voters: np.ndarray, candidates: np.ndarray, k: int
) -> tuple[np.ndarray, np.ndarray]:
    """The k nearest of the candidates (n_queries, m), numbers of voters or -1, ties by index; as `search_neighbours`.

    Queries and voters are float32.
    """
    squared = np.full((len(queries), k), np.inf)
    indices = np.full((len(queries), k), -1, dtype=np.int64)
    for rows in list_blocks(len(queries), max(1, PAIRS_AT_ONCE // max(candidates.shape[1], 1))):
        measured = _measure(queries[rows], voters, candidates[rows])
        best = np.lexsort((candidates[rows], measured), axis=1)[:, :k]
        distances = np.take_along_axis(measured, best, axis=1)
        nearest = np.take_along_axis(candidates[rows], best, axis=1)
        squared[rows, : best.shape[1]] = distances
        indices[rows, : best.shape[1]] = np.where(np.isfinite(distances), nearest, -1)
    return squared, indices


def _measure(queries: np.ndarray, voters: np.ndarray, candidates: np.ndarray) -> np.ndarray:
    """(n_queries, m) squared distances, the sum of squared differences in float32; inf where there is no candidate."""
    import faiss

    first = np.repeat(np.arange(len(queries)), candidates.shape[1])
    second = np.maximum(candidates, 0).astype(np.int64).ravel()
    squared = np.empty(len(first), dtype=np.float32)
    arrays = (np.ascontiguousarray(queries), first, np.ascontiguousarray(voters), second, squared)
    pointers = (faiss.swig_ptr(array) for array in arrays)
    faiss.pairwise_indexed_L2sqr(voters.shape[1], len(first), *pointers)  # type: ignore[attr-defined]
    return np.where(candidates >= 0, squared.reshape(candidates.shape), np.inf)
