"""Nearest neighbours among other bags, and the graph of their votes.

Small sets are searched exactly: faiss, or within one set `propose_nearest`, proposes a few more than k candidates,
which are measured again pair by pair and ordered by (distance, index), so that blocks, threads and ties change nothing.
Beyond `EXACT_PAIRS` pairs the candidates come from inverted lists (IVF), provided that these contain `LEAST_RECALL` of
the true neighbours of a sample: features without structure are searched exactly, however long it takes. Queries are
searched in blocks, by threads.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy import sparse

from segvote.numerics.approximate import search_approximately
from segvote.numerics.pairs import propose_nearest
from segvote.numerics.points import (
    Bags,
    centre_points,
    check_finite,
    keep_nearest,
    list_blocks,
    search_in_blocks,
    split_numbers,
)

# Candidates beyond k, so that rounding in float32 cannot hide a true neighbour.
SPARE_CANDIDATES = 8
QUERIES_PER_BLOCK = 4096
# From so many points of one set on it pays to measure every pair only once.
LEAST_PAIRED = 4096
# Up to here the exact search takes seconds on two cores.
EXACT_PAIRS = 25_000**2
# A large set is searched approximately only if that finds this part of the true neighbours of a sample.
LEAST_RECALL = 0.9
# Rows of the vote graph that are computed at once.
ROWS_PER_BLOCK = 65_536


@dataclass(frozen=True)
class Neighbours:
    """The nearest voters of other bags of every query."""

    squared: np.ndarray  # (n_queries, k) float64 squared distances, ascending; inf where there are fewer
    indices: np.ndarray  # (n_queries, k) int; -1 where there are fewer
    n_voters: int
    recall: float = 1.0  # part of the true neighbours among them: 1 where all pairs were compared

    def build_graph(self) -> sparse.csr_matrix:
        """(n_queries, n_voters) sparse votes; rows sum to one, or are empty without neighbours.

        The bandwidth ``s_i`` of a query is half the distance to the farthest neighbour, and squared distances are
        relative to the nearest: ``v_ij = exp(-(d_ij^2 - d_i1^2) / (2 s_i^2))``, divided by their sum.
        """
        blocks = list_blocks(len(self.indices), ROWS_PER_BLOCK)
        counts = [(self.indices[rows] >= 0).sum(axis=1) for rows in blocks]
        pointers = np.cumsum(np.concatenate([np.zeros(1, dtype=np.int64), *counts]))
        n_votes = int(pointers[-1])
        # As scipy would choose: anything else it would copy.
        kind = np.int32 if max(n_votes, self.n_voters) <= np.iinfo(np.int32).max else np.int64
        votes, voters = np.empty(n_votes), np.empty(n_votes, kind)
        # A few rows at a time: arrays of the size of all votes are the largest there are.
        for rows in blocks:
            is_found, place = self.indices[rows] >= 0, slice(pointers[rows.start], pointers[rows.stop])
            votes[place] = _weigh_votes(self.squared[rows], is_found)
            voters[place] = self.indices[rows][is_found]
        return sparse.csr_matrix((votes, voters, pointers.astype(kind)), shape=(len(self.indices), self.n_voters))


def search_neighbours(
    queries: np.ndarray,
    voters: np.ndarray,
    n_neighbors: int,
    query_bags: np.ndarray | None = None,
    voter_bags: np.ndarray | None = None,
) -> Neighbours:
    """Find the nearest voters (n_voters, d) of every query (n_queries, d) that are not of the query's own bag.

    The recall of a large set is measured on queries spread evenly over it.
    """
    check_finite(queries=queries, voters=voters)
    k, n_queries, n_voters = n_neighbors, len(queries), len(voters)
    if n_voters == 0 or n_queries == 0:
        return Neighbours(np.full((n_queries, k), np.inf), np.full((n_queries, k), -1, dtype=np.int64), n_voters)
    bags = None if query_bags is None or voter_bags is None else (query_bags, voter_bags)
    approximate = None
    if n_queries * n_voters > EXACT_PAIRS:
        approximate = search_approximately(queries, voters, k, bags, LEAST_RECALL)
    squared, indices, recall = approximate or (*_search_exactly(queries, voters, k, bags), 1.0)
    return Neighbours(squared, indices, n_voters, recall)


def _search_exactly(
    queries: np.ndarray, voters: np.ndarray, k: int, bags: Bags | None
) -> tuple[np.ndarray, np.ndarray]:
    centre = voters.mean(axis=0, dtype=np.float64)
    points = centre_points(voters, centre)
    if queries is voters and bags is not None and len(points) >= LEAST_PAIRED and np.array_equal(*bags):
        return _search_pairs(points, bags[0], k)
    asked = points if queries is voters else centre_points(queries, centre)
    blocks = split_numbers(np.arange(len(queries)), QUERIES_PER_BLOCK)
    return search_in_blocks(partial(_search_block, asked, points, k, bags), blocks, k)


def _search_pairs(points: np.ndarray, bags: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """The nearest of one set, every pair of which is measured once; the few with too narrow a bound are asked for."""
    candidates = propose_nearest(points, bags, k + SPARE_CANDIDATES)

    def search(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        squared, indices = keep_nearest(points[rows], points, candidates[rows], k)
        missing = candidates[rows, 0] < 0
        if missing.any():
            squared[missing], indices[missing] = _search_block(points, points, k, (bags, bags), rows[missing])
        return squared, indices

    return search_in_blocks(search, split_numbers(np.arange(len(points)), QUERIES_PER_BLOCK), k)


def _search_block(
    points: np.ndarray, voters: np.ndarray, k: int, bags: Bags | None, asked: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Search more and more candidates until every point that is asked for has k from other bags."""
    queries = points[asked]
    squared = np.full((len(queries), k), np.inf)
    indices = np.full((len(queries), k), -1, dtype=np.int64)
    waiting = np.arange(len(queries))
    n_candidates = min(len(voters), (k if bags is None else 2 * k) + SPARE_CANDIDATES)
    while len(waiting):
        candidates = _search_candidates(queries[waiting], voters, n_candidates)
        foreign = np.ones(candidates.shape, dtype=bool)
        if bags is not None:
            foreign = bags[1][candidates] != bags[0][asked[waiting]][:, None]
        # The spare ones stay spare: a row counts as served only when they are left over.
        served = (foreign.sum(axis=1) >= k + SPARE_CANDIDATES) | (n_candidates == len(voters))
        rows = waiting[served]
        candidates = np.where(foreign, candidates, -1)[served]
        squared[rows], indices[rows] = keep_nearest(queries[rows], voters, candidates, k)
        waiting = waiting[~served]
        n_candidates = min(len(voters), 4 * n_candidates)
    return squared, indices


def _search_candidates(queries: np.ndarray, voters: np.ndarray, n_candidates: int) -> np.ndarray:
    import faiss

    if n_candidates == len(voters):
        return np.broadcast_to(np.arange(n_candidates), (len(queries), n_candidates))
    # Of few queries, such as the segments of one image, faiss multiplies no matrices, which takes eight times as long.
    faiss.cvar.distance_compute_blas_threshold = 1
    return faiss.knn(queries, voters, n_candidates)[1]


def _weigh_votes(squared_distances: np.ndarray, is_found: np.ndarray) -> np.ndarray:
    """(n_neighbours,) the votes of some rows, one after the other."""
    finite = np.where(is_found, squared_distances, 0.0)
    bandwidth_squared = np.maximum(finite.max(axis=1, initial=0.0) / 4, np.finfo(float).tiny)
    relative = finite - finite[:, :1] if finite.shape[1] else finite
    votes = np.where(is_found, np.exp(-relative / (2 * bandwidth_squared[:, None])), 0.0)
    votes /= np.maximum(votes.sum(axis=1, keepdims=True), np.finfo(float).tiny)
    return votes[is_found]
