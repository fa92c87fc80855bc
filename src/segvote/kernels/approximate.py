"""Neighbours in large sets: an inverted index proposes candidates, the full vectors order them.

Votes forgive a missing far neighbour: on real photographs a search that finds four of five neighbours selects the same
segments as the exact one. The index lives on the leading principal components, where a scan is several times cheaper.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

__all__ = ["build_index", "search_approximately"]

N_COMPONENTS = 128
# Candidates per wanted neighbour: room for own-bag segments and for what the components cannot tell.
CANDIDATES_PER_NEIGHBOUR = 3
# Of those, as many per wanted neighbour are measured from the full vectors.
MEASURED_PER_NEIGHBOUR = 2
# One neighbour alone still wants a choice.
LEAST_CANDIDATES = 24
# Part of the lists that is scanned.
PROBED = 1 / 8
TRAINING_PER_LIST = 64
# So few that their candidates' vectors stay in the processor's cache.
QUERIES_PER_BLOCK = 32


def search_approximately(
    index: Any,
    queries: np.ndarray,
    voters: np.ndarray,
    k: int,
    query_bags: np.ndarray | None,
    voter_bags: np.ndarray | None,
) -> tuple[np.ndarray, np.ndarray]:
    """Find most of the k nearest voters of other bags; arguments and answer as in `search_neighbours`.

    Parameters
    ----------
    index
        What `build_index` made of the voters.
    queries, voters
        (n_queries, d), (n_voters, d) float32, contiguous.
    """
    n_candidates = max(CANDIDATES_PER_NEIGHBOUR * k, LEAST_CANDIDATES)
    n_measured = max(MEASURED_PER_NEIGHBOUR * k, LEAST_CANDIDATES)
    norms = np.einsum("ij,ij->i", voters, voters)
    squared = np.full((len(queries), k), np.inf)
    indices = np.full((len(queries), k), -1, dtype=np.int64)

    def order(start: int) -> None:
        rows = slice(start, start + QUERIES_PER_BLOCK)
        candidates = proposed[rows]
        usable = candidates >= 0
        if query_bags is not None and voter_bags is not None:
            usable &= voter_bags[candidates] != query_bags[rows][:, None]
        # The index proposes the nearest first: the first usable ones are the promising ones.
        first = np.argsort(~usable, axis=1, kind="stable")[:, :n_measured]
        candidates, usable = np.take_along_axis(candidates, first, 1), np.take_along_axis(usable, first, 1)
        squared[rows], indices[rows] = _keep_nearest(queries[rows], voters, norms, candidates, usable, k)

    proposed = index.search(queries, n_candidates)[1]
    with threadpool_limits(1), ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(order, range(0, len(queries), QUERIES_PER_BLOCK)))
    return squared, indices


def build_index(voters: np.ndarray) -> Any:
    """An inverted index over the leading principal components of the voters (n_voters, d)."""
    import faiss

    n_lists = 1 << max(4, round(np.log2(1.2 * np.sqrt(len(voters)))))
    lists = f"IVF{n_lists},Flat"
    n_dims = voters.shape[1]
    index = faiss.index_factory(n_dims, f"PCA{N_COMPONENTS},{lists}" if n_dims > N_COMPONENTS else lists)
    # Every so many, not a random draw: the same sample on every machine.
    step = max(1, len(voters) // (TRAINING_PER_LIST * n_lists))
    index.train(np.ascontiguousarray(voters[::step]))
    index.add(voters)
    faiss.ParameterSpace().set_index_parameter(index, "nprobe", max(1, int(PROBED * n_lists)))
    return index


def _keep_nearest(
    queries: np.ndarray, voters: np.ndarray, norms: np.ndarray, candidates: np.ndarray, usable: np.ndarray, k: int
) -> tuple[np.ndarray, np.ndarray]:
    near = voters[candidates]  # (rows, candidates, d)
    products = np.matmul(near, queries[:, :, None])[:, :, 0]
    squared = norms[candidates] - 2 * products + np.einsum("ij,ij->i", queries, queries)[:, None]
    squared = np.where(usable, np.maximum(squared, 0), np.inf).astype(np.float64)
    best = np.lexsort((candidates, squared), axis=1)[:, :k]
    found, distances = np.take_along_axis(candidates, best, 1), np.take_along_axis(squared, best, 1)
    return distances, np.where(np.isfinite(distances), found, -1)
