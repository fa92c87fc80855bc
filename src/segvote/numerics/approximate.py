"""Neighbours in large sets: inverted lists (faiss's IVF) propose candidates, the full vectors order them.

The lists hold the leading principal components of the voters, four bits for one or two (product quantisation), which
faiss compares in the processor's registers. A query looks at as many of its nearest lists, and measures as many of the
candidates found there from the full vectors, as a sample needs to find nearly all of its true neighbours. No second
copy of the vectors is made, unless they are float64.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from segvote.numerics.points import Bags, centre_points, keep_nearest, list_blocks, search_in_blocks, split_numbers
from segvote.numerics.threads import use_one_thread

N_COMPONENTS = 192
# Bits of a code; components that share one. Of many voters more are nearly alike: from here on each has its own.
CODE_BITS, COMPONENTS_PER_CODE = 4, 2
MANY_VOTERS = 200_000
# Lists per root of the number of voters; voters that one is learned from, and in how many rounds.
LISTS_PER_ROOT, TRAINING_PER_LIST, ROUNDS = 1.5, 32, 4
# Recall that is wanted, and queries on which it is measured.
WANTED_RECALL, N_SAMPLED = 0.97, 300
# Lists searched, and candidates measured per neighbour wanted: the first pair with the wanted recall is used.
EFFORTS = ((8, 2), (16, 3), (24, 4), (32, 5), (48, 6), (64, 9), (96, 12), (128, 18), (512, 18))
# Lower bound on n_neighbors when the number of candidates is computed.
LEAST_WANTED = 24
# The implementation in faiss whose results do not depend on the number of queries or threads.
ONE_BY_ONE = 13
# Queries that one thread searches at once; voters that are read at once.
QUERIES_AT_ONCE = 4096
VOTERS_AT_ONCE = 8192


def search_approximately(
    queries: np.ndarray, voters: np.ndarray, k: int, bags: Bags | None, least_recall: float
) -> tuple[np.ndarray, np.ndarray, float] | None:
    """Squared distances and numbers of most of the k nearest voters of other bags, and their recall.

    None where the lists find less than `least_recall` of the true neighbours of a sample: the features have no
    structure.
    """
    if voters.dtype != np.float32 or queries.dtype != np.float32:
        centre = voters.mean(axis=0, dtype=np.float64)
        queries, voters = centre_points(queries, centre), centre_points(voters, centre)
    import faiss  # noqa: F401  # a limit is that of the libraries which are loaded

    with use_one_thread():  # while lists are learned, too: their centres are sums
        return _search_with_lists(queries, voters, k, bags, least_recall)


def _search_with_lists(
    queries: np.ndarray, voters: np.ndarray, k: int, bags: Bags | None, least_recall: float
) -> tuple[np.ndarray, np.ndarray, float] | None:
    rows = np.linspace(0, len(queries) - 1, min(N_SAMPLED, len(queries))).astype(np.int64)
    true = search_all(queries[rows], voters, k, bags and (bags[0][rows], bags[1]))
    axes, index = _make_lists(voters)
    for effort in EFFORTS:
        search = partial(_search_lists, axes, index, queries, voters, k, bags, effort)
        recall = _count_found(true, search(rows)[1])
        if recall >= WANTED_RECALL:
            break
    if recall < least_recall:
        return None
    # Neighbours look at the same lists: asked together, they find them in the processor's cache.
    parts = list_blocks(len(queries), VOTERS_AT_ONCE)
    nearest = [index.quantizer.assign(axes.apply(queries[part]), 1)[:, 0] for part in parts]
    order = np.argsort(np.concatenate(nearest), kind="stable")
    # A sample cannot prove that no neighbour is missed: a recall of 1 means that all pairs were compared.
    return *search_in_blocks(search, split_numbers(order, QUERIES_AT_ONCE), k), min(recall, 0.9999)


def _make_lists(voters: np.ndarray) -> tuple[Any, Any]:
    """Principal axes of voters (n_voters, d), turned so that they differ as much in each; the lists of them."""
    import faiss

    n_dims, n_lists = min(N_COMPONENTS, voters.shape[1]), _count_lists(len(voters))
    alone = len(voters) >= MANY_VOTERS or n_dims % COMPONENTS_PER_CODE
    sample = np.ascontiguousarray(voters[:: max(1, len(voters) // (TRAINING_PER_LIST * n_lists))])
    axes = faiss.PCAMatrix(voters.shape[1], n_dims, 0, True)
    axes.train(sample)
    n_codes = n_dims if alone else n_dims // COMPONENTS_PER_CODE
    index = faiss.IndexIVFPQFastScan(faiss.IndexFlatL2(n_dims), n_dims, n_lists, n_codes, CODE_BITS)
    # Codes of the components, not of their residuals from the list's centre: one table for all lists.
    index.by_residual, index.implem = False, ONE_BY_ONE
    for clustering in (index.cp, index.pq.cp):
        clustering.niter, clustering.min_points_per_centroid = ROUNDS, 1
    index.train(axes.apply(sample))
    for rows in list_blocks(len(voters), VOTERS_AT_ONCE):
        index.add(axes.apply(voters[rows]))
    return axes, index


def _count_lists(n_voters: int) -> int:
    """A power of two, about `LISTS_PER_ROOT` times the root, of lists long enough to be learned."""
    wanted = min(LISTS_PER_ROOT * np.sqrt(n_voters), n_voters / TRAINING_PER_LIST)
    return 1 << max(2, int(np.log2(max(wanted, 1)) + 0.5))


def _search_lists(
    axes: Any,
    index: Any,  # faiss's ``IndexIVFPQFastScan`` of the voters along the axes
    queries: np.ndarray,
    voters: np.ndarray,
    k: int,
    bags: Bags | None,
    effort: tuple[int, int],
    rows: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    """Squared distances and numbers of most of the k nearest voters of some queries, by lists and candidates."""
    import faiss

    asked, parameters = queries[rows], faiss.SearchParametersIVF()
    parameters.nprobe = min(effort[0], index.nlist)
    n_measured = min(effort[1] * max(k, LEAST_WANTED), len(voters))
    candidates = index.search(axes.apply(asked), n_measured, params=parameters)[1]
    if bags is not None:
        candidates[bags[1][candidates] == bags[0][rows][:, None]] = -1
    squared, indices = keep_nearest(asked, voters, candidates, k)
    # Where the lists have too few voters of other bags, all voters are looked at.
    for part in split_numbers(np.flatnonzero(indices[:, -1] < 0), N_SAMPLED):
        nearest = search_all(asked[part], voters, k, bags and (bags[0][rows[part]], bags[1]))
        squared[part], indices[part] = keep_nearest(asked[part], voters, nearest, k)
    return squared, indices


def search_all(queries: np.ndarray, voters: np.ndarray, k: int, bags: Bags | None) -> np.ndarray:
    """(n_queries, k) true neighbours of a few queries, a part of the voters at a time; -1 where there are fewer."""
    centre = voters.mean(axis=0, dtype=np.float64)
    asked = -2 * centre_points(queries, centre)
    nearest = np.full((len(queries), k), np.inf, dtype=np.float32)
    indices = np.full((len(queries), k), -1, dtype=np.int64)
    for rows in list_blocks(len(voters), VOTERS_AT_ONCE):
        points = centre_points(voters[rows], centre)
        squared = asked @ points.T
        squared += np.einsum("ij,ij->i", points, points)
        if bags is not None:
            squared[bags[1][rows] == bags[0][:, None]] = np.inf
        nearest, numbers = np.hstack([nearest, squared]), np.arange(rows.start, rows.stop)
        indices = np.hstack([indices, np.broadcast_to(numbers, squared.shape)])
        best = np.argpartition(nearest, k - 1, axis=1)[:, :k]
        nearest, indices = np.take_along_axis(nearest, best, 1), np.take_along_axis(indices, best, 1)
    return np.where(np.isfinite(nearest), indices, -1)


def _count_found(true: np.ndarray, indices: np.ndarray) -> float:
    """Part of the true neighbours, row by row, that are among `indices`."""
    hits = [np.isin(one[one >= 0], other) for one, other in zip(true, indices, strict=True)]
    return float(np.concatenate(hits).mean()) if any(map(len, hits)) else 1.0
