"""Neighbours in large sets: inverted lists (faiss's IVF) propose candidates, the full vectors order them.

The lists hold the leading principal components of the voters, four bits for one or two (product quantisation), which
faiss compares in the processor's registers. A query looks at its nearest lists, as many as hold nearly all true
neighbours of a sample, and the candidates found there are measured from the full vectors, as many as that sample needs.
No second copy of the vectors is made, whatever their number, unless they are float64.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from segvote.kernels.points import centre_points, keep_nearest, list_blocks, run_blocks

# Of queries and of voters.
Bags = tuple[np.ndarray, np.ndarray]

N_COMPONENTS = 192
# Bits of a code; components that share one. Of many voters more are nearly alike: from here on each has its own.
CODE_BITS, COMPONENTS_PER_CODE = 4, 2
MANY_VOTERS = 200_000
# Points from which components are learned.
COMPONENT_POINTS = 8192
# Times the root of the number of voters: the lists; of how many voters one is learned, and in how many rounds.
LISTS_PER_ROOT, TRAINING_PER_LIST, ROUNDS = 1.5, 32, 4
# Lists are looked at that hold this part of the true neighbours of so many queries.
LISTED_RECALL = 0.985
N_SAMPLED = 300
# Candidates measured from the full vectors per neighbour wanted: the first that finds enough in the end.
MEASURED_PER_NEIGHBOUR = (2, 3, 4, 5, 6, 9, 12, 18)
WANTED_RECALL = 0.97
# One neighbour alone wants the choice of so many.
LEAST_WANTED = 24
# Of faiss's ways through the lists one whose results do not depend on how many ask at once, or on threads.
ONE_BY_ONE = 13
# What one thread searches; read, or compared with a few queries, at once.
QUERIES_AT_ONCE = 4096
VOTERS_AT_ONCE = 8192


def search_approximately(
    queries: np.ndarray,
    voters: np.ndarray,
    k: int,
    query_bags: np.ndarray | None,
    voter_bags: np.ndarray | None,
    least_recall: float,
) -> tuple[np.ndarray, np.ndarray, float] | None:
    """Find most of the k nearest voters of other bags.

    Parameters
    ----------
    queries, voters, query_bags, voter_bags
        As in `search_neighbours`.
    least_recall
        Part of the true neighbours of a sample that has to be found.

    Returns
    -------
    squared_distances, indices, recall
        As from `search_with_recall`; or None where the lists find fewer: the features have no structure.
    """
    if voters.dtype != np.float32 or queries.dtype != np.float32:
        centre = voters.mean(axis=0, dtype=np.float64)
        queries, voters = centre_points(queries, centre), centre_points(voters, centre)
    lists = _Lists.make(voters)
    bags = None if query_bags is None or voter_bags is None else (query_bags, voter_bags)
    rows = np.linspace(0, len(queries) - 1, min(N_SAMPLED, len(queries))).astype(np.int64)
    true = search_all(queries[rows], voters, k, None if query_bags is None else query_bags[rows], voter_bags)
    search = _ListSearch(lists, queries, voters, bags, k)
    search = _adapt(search, rows, true)
    recall = _count_found(true, search(rows)[1])
    if recall < least_recall:
        return None
    # Neighbours look at the same lists: asked together, they find them in the processor's cache.
    order = np.argsort(lists.rank(queries, 1)[:, 0], kind="stable")
    # A sample cannot prove that nothing is missed: 1 is said where all pairs were looked at.
    return *search_in_blocks(search, split_numbers(order, QUERIES_AT_ONCE), k), min(recall, 0.9999)


def split_numbers(numbers: np.ndarray, size: int) -> list[np.ndarray]:
    """Blocks of at most `size` of them."""
    return [numbers[rows] for rows in list_blocks(len(numbers), size)]


def search_in_blocks(
    search: Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]], blocks: Sequence[np.ndarray], k: int
) -> tuple[np.ndarray, np.ndarray]:
    """What `search` finds for blocks that hold the number of each query once, put together."""
    n_queries = sum(map(len, blocks))
    squared, indices = np.empty((n_queries, k)), np.empty((n_queries, k), np.int64)
    for rows, found in zip(blocks, run_blocks(search, blocks), strict=True):
        squared[rows], indices[rows] = found
    return squared, indices


@dataclass(frozen=True)
class _Lists:
    """Voters, put into lists.

    Attributes
    ----------
    centre, axes
        (d,) float64 mean of the voters; (d, n_components) float32 directions of their components, turned.
    index
        faiss's ``IndexIVFPQFastScan`` of the components.
    """

    centre: np.ndarray
    axes: np.ndarray
    index: Any

    @classmethod
    def make(cls, voters: np.ndarray) -> _Lists:
        """Put voters (n_voters, d) into lists, a few at a time."""
        import faiss

        centre = voters.mean(axis=0, dtype=np.float64)
        axes = _find_axes(voters, centre)
        n_dims, n_lists = axes.shape[1], _count_lists(len(voters))
        n_codes = _count_codes(len(voters), n_dims)
        index = faiss.IndexIVFPQFastScan(faiss.IndexFlatL2(n_dims), n_dims, n_lists, n_codes, CODE_BITS)
        # Codes of the components themselves, not of what a list's centre leaves of them: one table for all lists.
        index.by_residual, index.implem = False, ONE_BY_ONE
        for clustering in (index.cp, index.pq.cp):
            clustering.niter, clustering.min_points_per_centroid = ROUNDS, 1
        lists = cls(centre, axes, index)
        sample = voters[:: _find_step(len(voters))]
        index.train(np.concatenate([lists.project(sample[rows]) for rows in _list_parts(sample)]))
        for rows in _list_parts(voters):
            index.add(lists.project(voters[rows]))
        return lists

    def project(self, points: np.ndarray) -> np.ndarray:
        """Components (n, n_components) of a few points (n, d)."""
        return centre_points(points, self.centre) @ self.axes

    def rank(self, points: np.ndarray, n: int) -> np.ndarray:
        """(n_points, n) the lists that each point is nearest to."""
        quantizer = self.index.quantizer
        return np.concatenate([quantizer.search(self.project(points[rows]), n)[1] for rows in _list_parts(points)])


def _list_parts(points: np.ndarray) -> list[slice]:
    """Rows that are read at once."""
    return list_blocks(len(points), VOTERS_AT_ONCE)


@dataclass(frozen=True)
class _ListSearch:
    """Numbers of queries to the voters that are found for them.

    Attributes
    ----------
    lists
        Of the voters.
    queries, voters, bags
        (n_queries, d); (n_voters, d); bags of both, or None: nothing is left out.
    k
        How many neighbours are wanted.
    n_lists, n_measured
        How many lists are looked at, and how many candidates are measured.
    """

    lists: _Lists
    queries: np.ndarray
    voters: np.ndarray
    bags: Bags | None
    k: int
    n_lists: int = 1
    n_measured: int = LEAST_WANTED

    def __call__(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Squared distances and indices of most of the k nearest voters, as `search_neighbours` gives them."""
        squared, indices = self.ask_lists(rows)
        # Where the lists have too few voters of other bags, all voters are looked at.
        lacking = np.flatnonzero(indices[:, -1] < 0)
        for part in split_numbers(lacking, N_SAMPLED):
            asked, bags = self.queries[rows[part]], self.bags
            found = search_all(asked, self.voters, self.k, bags and bags[0][rows[part]], bags and bags[1])
            squared[part], indices[part] = keep_nearest(asked, self.voters, found, self.k)
        return squared, indices

    def ask_lists(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The same of the lists alone."""
        import faiss

        parameters = faiss.SearchParametersIVF()
        parameters.nprobe = self.n_lists
        asked = self.lists.project(self.queries[rows])
        candidates = self.lists.index.search(asked, self.n_measured, params=parameters)[1]
        if self.bags is not None:
            candidates[self.bags[1][candidates] == self.bags[0][rows][:, None]] = -1
        return keep_nearest(self.queries[rows], self.voters, candidates, self.k)

    def count_lists(self, rows: np.ndarray, true: np.ndarray) -> int:
        """How many of its nearest lists a query looks at to find nearly all true neighbours (n, k) of some queries."""
        n_lists = self.lists.index.nlist
        order = self.lists.rank(self.queries[rows], n_lists)
        ranks = np.empty_like(order)
        np.put_along_axis(ranks, order, np.arange(n_lists), axis=1)
        homes = self.lists.rank(self.voters[np.maximum(true, 0).ravel()], 1).reshape(true.shape)
        wanted = np.take_along_axis(ranks, homes, axis=1)[true >= 0]
        return 1 + int(np.quantile(wanted, LISTED_RECALL, method="higher")) if len(wanted) else 1


def _adapt(search: _ListSearch, rows: np.ndarray, true: np.ndarray) -> _ListSearch:
    """The search as far as some queries need it to find their true neighbours (n, k)."""
    search = replace(search, n_lists=search.count_lists(rows, true))
    for each in MEASURED_PER_NEIGHBOUR:
        n_measured = min(each * max(search.k, LEAST_WANTED), len(search.voters))
        search = replace(search, n_measured=n_measured)
        if _count_found(true, search.ask_lists(rows)[1]) >= WANTED_RECALL:
            break
    return search


def search_all(
    queries: np.ndarray,
    voters: np.ndarray,
    k: int,
    query_bags: np.ndarray | None = None,
    voter_bags: np.ndarray | None = None,
) -> np.ndarray:
    """The true neighbours of a few queries, a part of the voters at a time.

    Parameters
    ----------
    queries, voters, k, query_bags, voter_bags
        As in `search_neighbours`.

    Returns
    -------
    (n_queries, k) int64; -1 where there are fewer.
    """
    centre = voters.mean(axis=0, dtype=np.float64)
    asked = -2 * centre_points(queries, centre)
    nearest = np.full((len(queries), k), np.inf, dtype=np.float32)
    indices = np.full((len(queries), k), -1, dtype=np.int64)
    for rows in _list_parts(voters):
        points = centre_points(voters[rows], centre)
        squared = asked @ points.T
        squared += np.einsum("ij,ij->i", points, points)
        if query_bags is not None and voter_bags is not None:
            squared[voter_bags[rows] == query_bags[:, None]] = np.inf
        nearest, numbers = np.hstack([nearest, squared]), np.arange(rows.start, rows.stop)
        indices = np.hstack([indices, np.broadcast_to(numbers, squared.shape)])
        best = np.argpartition(nearest, k - 1, axis=1)[:, :k]
        nearest, indices = np.take_along_axis(nearest, best, 1), np.take_along_axis(indices, best, 1)
    return np.where(np.isfinite(nearest), indices, -1)


def _count_found(true: np.ndarray, found: np.ndarray) -> float:
    """Part of the true neighbours, row by row, that are among the found ones."""
    hits = [np.isin(one[one >= 0], other) for one, other in zip(true, found, strict=True)]
    return float(np.concatenate(hits).mean()) if any(map(len, hits)) else 1.0


def _find_axes(voters: np.ndarray, centre: np.ndarray) -> np.ndarray:
    """(d, n_components) directions in which voters differ most, turned so that they differ as much in each."""
    # Not a random draw: the same sample on every machine.
    sample = centre_points(voters[:: max(1, len(voters) // COMPONENT_POINTS)], centre)
    axes = np.linalg.eigh(sample.T @ sample)[1][:, ::-1][:, :N_COMPONENTS]
    # All codes have the same number of bits.
    turn = np.linalg.qr(np.random.default_rng(0).normal(size=(axes.shape[1], axes.shape[1])))[0]
    return np.ascontiguousarray(axes @ turn, dtype=np.float32)


def _count_codes(n_voters: int, n_dims: int) -> int:
    """Codes of a voter of so many components, as many to each."""
    return n_dims if n_voters >= MANY_VOTERS or n_dims % COMPONENTS_PER_CODE else n_dims // COMPONENTS_PER_CODE


def _find_step(n_voters: int) -> int:
    """Every so many voters are learned from."""
    return max(1, n_voters // (TRAINING_PER_LIST * _count_lists(n_voters)))


def _count_lists(n_voters: int) -> int:
    """A power of two, about so many times the root, of lists long enough to be learned."""
    wanted = min(LISTS_PER_ROOT * np.sqrt(n_voters), n_voters / TRAINING_PER_LIST)
    return 1 << max(2, int(np.log2(max(wanted, 1)) + 0.5))
