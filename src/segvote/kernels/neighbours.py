"""Nearest neighbours among other bags, and the vote graph made of them.

Small sets are searched exactly: faiss proposes a few more than k candidates, which are then measured again from the
vectors in float64 and ordered by (distance, index), so that rounding, threads and ties cannot change who is heard.
Beyond `EXACT_PAIRS` pairs the candidates come from an inverted index over principal components, and are measured from
the full vectors, provided that this finds `LEAST_RECALL` of the true neighbours of a sample: features without structure
are searched exactly, however long it takes.
"""

from __future__ import annotations

import numpy as np
from scipy import sparse

from segvote.kernels.approximate import centre_points, search_approximately
from segvote.kernels.checks import check_finite

__all__ = ["build_vote_graph", "search_neighbours", "search_with_recall"]

# Candidates beyond k, so that rounding in float32 cannot hide a true neighbour.
SPARE_CANDIDATES = 8
QUERIES_PER_BLOCK = 4096
# Up to here the exact search takes seconds on two cores.
EXACT_PAIRS = 25_000**2
# A large set is searched approximately only if that finds this part of the true neighbours of a sample.
LEAST_RECALL = 0.9
# Rows of the vote graph that are computed at once.
ROWS_PER_BLOCK = 65_536


def search_neighbours(
    queries: np.ndarray,
    voters: np.ndarray,
    n_neighbors: int,
    query_bags: np.ndarray | None = None,
    voter_bags: np.ndarray | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Find the nearest voters of every query that are not of the query's own bag.

    Parameters
    ----------
    queries, voters
        (n_queries, d), (n_voters, d).
    n_neighbors
        How many are wanted.
    query_bags, voter_bags
        (n_queries,), (n_voters,) integers, or None: nothing is left out.

    Returns
    -------
    squared_distances
        (n_queries, n_neighbors) float64, ascending; inf where there are fewer neighbours than wanted.
    indices
        (n_queries, n_neighbors) int64; -1 where there are fewer.
    """
    return search_with_recall(queries, voters, n_neighbors, query_bags, voter_bags)[:2]


def search_with_recall(
    queries: np.ndarray,
    voters: np.ndarray,
    n_neighbors: int,
    query_bags: np.ndarray | None = None,
    voter_bags: np.ndarray | None = None,
) -> tuple[np.ndarray, np.ndarray, float]:
    """As `search_neighbours`, and the part of the true neighbours found: 1 exactly where all pairs were looked at.

    The recall of a large set is that of queries spread evenly over it.
    """
    check_finite(queries=queries, voters=voters)
    k = n_neighbors
    if len(voters) == 0 or len(queries) == 0:
        return np.full((len(queries), k), np.inf), np.full((len(queries), k), -1, dtype=np.int64), 1.0
    bags = None if query_bags is None or voter_bags is None else (query_bags, voter_bags)
    if len(queries) * len(voters) > EXACT_PAIRS:
        found = search_approximately(queries, voters, k, query_bags, voter_bags, LEAST_RECALL)
        if found is not None:
            return found
    return *_search_exactly(queries, voters, k, bags), 1.0


def _search_exactly(
    queries: np.ndarray, voters: np.ndarray, k: int, bags: tuple[np.ndarray, np.ndarray] | None
) -> tuple[np.ndarray, np.ndarray]:
    centre = voters.mean(axis=0, dtype=np.float64)
    points = centre_points(voters, centre)
    asked = points if queries is voters else centre_points(queries, centre)
    blocks = [slice(start, start + QUERIES_PER_BLOCK) for start in range(0, len(queries), QUERIES_PER_BLOCK)]
    found = [_search_block(asked[rows], points, k, bags and (bags[0][rows], bags[1])) for rows in blocks]
    return np.concatenate([one[0] for one in found]), np.concatenate([one[1] for one in found])


def _search_block(
    queries: np.ndarray, voters: np.ndarray, k: int, bags: tuple[np.ndarray, np.ndarray] | None
) -> tuple[np.ndarray, np.ndarray]:
    """Ask for more and more candidates until every query has k from other bags."""
    squared = np.full((len(queries), k), np.inf)
    indices = np.full((len(queries), k), -1, dtype=np.int64)
    waiting = np.arange(len(queries))
    n_candidates = min(len(voters), (k if bags is None else 2 * k) + SPARE_CANDIDATES)
    while len(waiting):
        candidates = _search_candidates(queries[waiting], voters, n_candidates)
        foreign = np.ones(candidates.shape, dtype=bool)
        if bags is not None:
            foreign = bags[1][candidates] != bags[0][waiting][:, None]
        # The spare ones stay spare: a row counts as served only when they are left over.
        served = (foreign.sum(axis=1) >= k + SPARE_CANDIDATES) | (n_candidates == len(voters))
        rows = waiting[served]
        squared[rows], indices[rows] = _order(queries[rows], voters, candidates[served], foreign[served], k)
        waiting = waiting[~served]
        n_candidates = min(len(voters), 4 * n_candidates)
    return squared, indices


def _search_candidates(queries: np.ndarray, voters: np.ndarray, n_candidates: int) -> np.ndarray:
    import faiss

    if n_candidates == len(voters):
        return np.broadcast_to(np.arange(n_candidates), (len(queries), n_candidates))
    return faiss.knn(queries, voters, n_candidates)[1]


def _order(
    queries: np.ndarray, voters: np.ndarray, candidates: np.ndarray, foreign: np.ndarray, k: int
) -> tuple[np.ndarray, np.ndarray]:
    """Measure candidates in float64 and keep the k nearest, ties by index."""
    squared = np.full((len(queries), k), np.inf)
    indices = np.full((len(queries), k), -1, dtype=np.int64)
    for row, query in enumerate(queries):
        found = candidates[row][foreign[row]]
        gap = voters[found].astype(np.float64) - query
        distances = np.einsum("ij,ij->i", gap, gap)
        order = np.lexsort((found, distances))[:k]
        squared[row, : len(order)], indices[row, : len(order)] = distances[order], found[order]
    return squared, indices


def build_vote_graph(squared_distances: np.ndarray, indices: np.ndarray, n_voters: int) -> sparse.csr_matrix:
    """Turn neighbours into votes with a bandwidth of each query's own.

    ``s_i`` is half the distance to the farthest neighbour heard, and squared distances are taken relative to the
    nearest: ``v_ij = exp(-(d_ij^2 - d_i1^2) / (2 s_i^2))``, divided by their sum.

    Returns
    -------
    (n_queries, n_voters) float64 sparse matrix; rows sum to one, or are empty where nobody is near.
    """
    heard = indices >= 0
    pointers = np.concatenate([[0], np.cumsum(heard.sum(axis=1))])
    votes = np.empty(pointers[-1])
    # A few rows at a time: arrays of the size of all votes are the largest there are.
    for start in range(0, len(indices), ROWS_PER_BLOCK):
        rows = slice(start, min(start + ROWS_PER_BLOCK, len(indices)))
        votes[pointers[rows.start] : pointers[rows.stop]] = _weigh_votes(squared_distances[rows], heard[rows])
    return sparse.csr_matrix((votes, indices[heard], pointers), shape=(len(indices), n_voters))


def _weigh_votes(squared_distances: np.ndarray, heard: np.ndarray) -> np.ndarray:
    """(n_heard,) the votes of some rows, one after the other."""
    finite = np.where(heard, squared_distances, 0.0)
    bandwidth_squared = np.maximum(finite.max(axis=1, initial=0.0) / 4, np.finfo(float).tiny)
    relative = finite - finite[:, :1] if finite.shape[1] else finite
    votes = np.where(heard, np.exp(-relative / (2 * bandwidth_squared[:, None])), 0.0)
    votes /= np.maximum(votes.sum(axis=1, keepdims=True), np.finfo(float).tiny)
    return votes[heard]
