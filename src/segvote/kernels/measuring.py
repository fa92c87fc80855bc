"""Candidates measured from the full vectors, pair by pair: no answer depends on what else is asked at the same time."""

from __future__ import annotations

import numpy as np

from segvote.kernels.blocks import list_blocks

# Distances measured at once: they stay in the processor's cache.
PAIRS_AT_ONCE = 1 << 18


def keep_nearest(
    queries: np.ndarray, voters: np.ndarray, candidates: np.ndarray, k: int
) -> tuple[np.ndarray, np.ndarray]:
    """Measure candidates and keep the k nearest, ties by index.

    Parameters
    ----------
    queries, voters
        (n_queries, d), (n_voters, d) float32.
    candidates
        (n_queries, m) numbers of voters; -1: none.
    k
        How many are kept.

    Returns
    -------
    squared_distances, indices
        As from `search_neighbours`.
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
