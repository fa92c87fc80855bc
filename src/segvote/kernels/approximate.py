"""Neighbours in large sets: lists propose candidates by estimated distances, the full vectors order them.

A query looks at the lists that may hold neighbours: those whose members are, about, no farther than its neighbours,
give or take a reach that is learned from the true neighbours of a sample. No second copy of the vectors is made,
whatever their number; they and what is found may be mapped from files (see `Workspace`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from segvote.kernels.lists import Lists, centre_points, make_lists, measure_lengths
from segvote.kernels.workspace import MEMORY, SharedArray, Workspace, list_blocks

__all__ = ["Bags", "ListSearch", "search_all", "search_approximately", "search_in_blocks", "split_numbers"]

# Of queries and of voters.
Bags = tuple[np.ndarray, np.ndarray]

# Lists are looked at that hold this part of the true neighbours of so many queries.
LISTED_RECALL = 0.985
N_SAMPLED = 300
# Candidates measured from the full vectors per neighbour wanted: the first that finds enough in the end.
MEASURED_PER_NEIGHBOUR = (1.5, 2, 3, 4, 6, 9, 12)
WANTED_RECALL = 0.97
# One neighbour alone still wants a choice.
LEAST_MEASURED = 24
# Per candidate, voters of the nearest lists that tell how far candidates can be; more where they are of the own bag.
FIRST_SEEN, FIRST_GROWTH = 20, 8
# Part of that distance (squared) by which a query's lists may be farther: those in empty places look around farther.
GIVE = 0.75
# Pairs near enough that are kept in mind before the farther ones are forgotten.
HITS_AT_ONCE = 1_500_000
# Queries that are compared with all lists at once.
RATED_AT_ONCE = 1024
# Queries whose candidates are sorted, and bytes of vectors measured, at once: they stay in the processor's cache.
SORTED_AT_ONCE = 64
MEASURED_BYTES = 1 << 21
# What one thread, or one worker elsewhere, searches and hands back.
QUERIES_AT_ONCE = 4096
VOTERS_AT_ONCE = 8192


def search_approximately(
    queries: np.ndarray,
    voters: np.ndarray,
    k: int,
    query_bags: np.ndarray | None,
    voter_bags: np.ndarray | None,
    least_recall: float,
    workspace: Workspace = MEMORY,
) -> tuple[np.ndarray, np.ndarray, float] | None:
    """Find most of the k nearest voters of other bags.

    Parameters
    ----------
    queries, voters, query_bags, voter_bags
        As in `search_neighbours`.
    least_recall
        Part of the true neighbours of a sample that has to be found.
    workspace
        Where lists and neighbours lie.

    Returns
    -------
    squared_distances, indices, recall
        As from `search_with_recall`; or None where the lists find fewer: the features have no structure.
    """
    lists = make_lists(voters, workspace)
    homes = lists.get_homes() if queries is voters else lists.find_homes(queries)
    bags = None
    if query_bags is not None and voter_bags is not None:
        bags = workspace.share(query_bags), workspace.share(voter_bags[lists.numbers.array])
    rows = np.linspace(0, len(queries) - 1, min(N_SAMPLED, len(queries))).astype(np.int64)
    true = search_all(queries[rows], voters, k, None if query_bags is None else query_bags[rows], voter_bags)
    search = ListSearch(lists, workspace.share(queries), workspace.share(homes), workspace.share(voters), bags, k)
    search, recall = _adapt(search, rows, true)
    if recall < least_recall:
        return None
    # Neighbours look at the same lists: asked together, they find them in the processor's cache.
    order = np.argsort(homes, kind="stable")
    # A sample cannot prove that nothing is missed: 1 is said where all pairs were looked at.
    return *search_in_blocks(search, split_numbers(order, QUERIES_AT_ONCE), k, workspace), min(recall, 0.9999)


def split_numbers(numbers: np.ndarray, size: int) -> list[np.ndarray]:
    """Blocks of at most `size` of them."""
    return [numbers[rows] for rows in list_blocks(len(numbers), size)]


def search_in_blocks(
    search: Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]],
    blocks: Sequence[np.ndarray],
    k: int,
    workspace: Workspace,
) -> tuple[np.ndarray, np.ndarray]:
    """What `search` finds for blocks that hold the number of each query once, put together in the workspace."""
    n_queries = sum(map(len, blocks))
    squared = workspace.make_array((n_queries, k), np.float64)
    indices = workspace.make_array((n_queries, k), np.int64)
    for rows, found in zip(blocks, workspace.run(search, blocks), strict=True):
        squared[rows], indices[rows] = found
    return squared, indices


@dataclass(frozen=True)
class ListSearch:
    """Numbers of queries to the voters that are found for them, here or elsewhere.

    Attributes
    ----------
    lists
        Of the voters.
    queries, homes
        (n_queries, d); (n_queries,) the list each is nearest to.
    voters, bags
        (n_voters, d); bags of queries, and of voters in the order of the lists, or None: nothing is left out.
    k
        How many neighbours are wanted.
    n_measured
        How many candidates are measured.
    reach
        How much farther (squared) than its candidates a list of a query may be.
    """

    lists: Lists
    queries: SharedArray
    homes: SharedArray
    voters: SharedArray
    bags: tuple[SharedArray, SharedArray] | None
    k: int
    n_measured: int = 0
    reach: float = np.inf

    def __call__(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Squared distances and indices of most of the k nearest voters, as `search_neighbours` gives them."""
        asked, visits = self._choose_lists(rows)
        candidates = self._propose(asked, visits, self._get_bags(rows))
        n_at_once = max(1, MEASURED_BYTES // (4 * self.queries.array.shape[1] * self.n_measured))
        found = [
            _keep_nearest(self.queries.array[rows[part]], self.voters.array, candidates[part], self.k)
            for part in list_blocks(len(rows), n_at_once)
        ]
        return np.concatenate([one[0] for one in found]), np.concatenate([one[1] for one in found])

    def learn_reach(self, rows: np.ndarray, true: np.ndarray) -> float:
        """The least that reaches the lists of nearly all true neighbours (n, k) of some queries."""
        places = self.lists.get_homes()[true]
        wanted = np.sort(self._rate(rows)[1][places, np.arange(len(rows))[:, None]][true >= 0])
        n_reached = int(np.ceil(LISTED_RECALL * len(wanted)))
        if n_reached == len(wanted):
            return np.inf
        # Between two of them, so that rounding cannot leave out the list that it was learned from.
        return float(wanted[n_reached - 1] + wanted[n_reached]) / 2

    def _get_bags(self, rows: np.ndarray) -> Bags | None:
        """Of some queries, and of the voters in the order of the lists."""
        return self.bags and (self.bags[0].array[rows], self.bags[1].array)

    def _choose_lists(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """What is asked of the lists, and (n_lists, n_queries) bool which are visited."""
        asked, visits = [], []
        for part in list_blocks(len(rows), RATED_AT_ONCE):
            some, chances = self._rate(rows[part])
            asked.append(some)
            visits.append(chances <= self.reach)
        return np.concatenate(asked), np.hstack(visits)

    def _rate(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """What is asked of the lists, candidates and nothing farther; and how much farther than these the lists are.

        The latter (n_lists, n_queries) is -inf for lists that candidates are known to be in.
        """
        asked, lengths = self.lists.ask(self.queries.array[rows])
        limits, seen = self._find_limits(asked, self.homes.array[rows], self._get_bags(rows))
        asked[:, -1] = -limits
        chances = self.lists.rate(asked)
        chances += lengths - GIVE * (limits + lengths)
        chances[seen] = -np.inf
        return asked, chances

    def _find_limits(self, asked: np.ndarray, homes: np.ndarray, bags: Bags | None) -> tuple[np.ndarray, np.ndarray]:
        """(n_queries,) distance within which there are enough candidates; (n_lists, n_queries) lists that have them."""
        limits = np.empty(len(asked), dtype=np.float32)
        seen = np.zeros((len(self.lists.sizes), len(asked)), dtype=bool)
        order = np.argsort(homes, kind="stable")
        # Those at home in the same list look first at the same lists.
        for group in np.split(order, np.flatnonzero(np.diff(homes[order])) + 1):
            near = self.lists.rank(homes[group[0]])
            limits[group], n_seen = self._find_limit(asked[group], near, bags and (bags[0][group], bags[1]))
            seen[np.ix_(near[:n_seen], group)] = True
        return limits, seen

    def _find_limit(self, asked: np.ndarray, near: np.ndarray, bags: Bags | None) -> tuple[np.ndarray, int]:
        """Of some queries, and how many of the lists near them were looked at."""
        limits = np.full(len(asked), np.finfo(np.float32).max)
        n_known, n_wanted = np.cumsum(self.lists.sizes[near]), FIRST_SEEN * self.n_measured
        waiting, n_lists = np.arange(len(asked)), 0
        while len(waiting) and n_lists < len(near):
            n_lists = min(int(np.searchsorted(n_known, n_wanted)) + 1, len(near))
            n_wanted *= FIRST_GROWTH
            members = self.lists.take(near[:n_lists])
            if len(members) < self.n_measured:
                continue
            estimates = asked[waiting] @ self.lists.codes.array[members].T
            if bags is not None:
                estimates[bags[0][waiting][:, None] == bags[1][members]] = np.inf
            found = np.partition(estimates, self.n_measured - 1, axis=1)[:, self.n_measured - 1]
            limits[waiting] = np.minimum(limits[waiting], found)
            waiting = waiting[~np.isfinite(found)]
        return limits, n_lists

    def _propose(self, asked: np.ndarray, visits: np.ndarray, bags: Bags | None) -> np.ndarray:
        """(n_queries, n_measured) the nearest voters of the lists visited, by estimate; -1 where there are fewer.

        Visits are (n_lists, n_queries) bool.
        """
        hits, n_hits = [_Hits.none()], 0
        for one in map(int, np.flatnonzero(visits.any(axis=1))):
            hits.append(self._visit(asked, np.flatnonzero(visits[one]), one, bags))
            n_hits += len(hits[-1])
            if n_hits > HITS_AT_ONCE:
                hits = [_Hits.join(hits).thin(len(asked), self.n_measured)]
                n_hits = len(hits[0])
        members = _Hits.join(hits).thin(len(asked), self.n_measured).spread(len(asked), self.n_measured)
        return np.where(members >= 0, self.lists.numbers.array[members], -1)

    def _visit(self, asked: np.ndarray, rows: np.ndarray, number: int, bags: Bags | None) -> _Hits:
        """Members of a list within the limits of some queries."""
        start, stop = self.lists.starts.array[number : number + 2]
        estimates = (asked[rows] @ self.lists.codes.array[start:stop].T).ravel()
        found = np.flatnonzero(estimates <= 0)
        whose, members = np.divmod(found, stop - start)
        whose, members = rows[whose], start + members
        if bags is not None:
            foreign = bags[1][members] != bags[0][whose]
            whose, members, found = whose[foreign], members[foreign], found[foreign]
        return _Hits(whose, members, estimates[found])


@dataclass(frozen=True)
class _Hits:
    """Pairs near enough: (n,) query, row of the codes, estimated distance."""

    rows: np.ndarray
    members: np.ndarray
    estimates: np.ndarray

    def __len__(self) -> int:
        return len(self.rows)

    @staticmethod
    def none() -> _Hits:
        return _Hits(np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64), np.empty(0, dtype=np.float32))

    @staticmethod
    def join(parts: Sequence[_Hits]) -> _Hits:
        """All of them, in the order of the queries."""
        rows = np.concatenate([part.rows for part in parts])
        # Few enough queries for two bytes are sorted by counting.
        order = np.argsort(rows.astype(np.min_scalar_type(int(rows.max(initial=0)))), kind="stable")
        members = np.concatenate([part.members for part in parts])[order]
        return _Hits(rows[order], members, np.concatenate([part.estimates for part in parts])[order])

    def thin(self, n_queries: int, n: int) -> _Hits:
        """Of each query the n nearest; in the order of the queries, as these were."""
        kept = np.empty(len(self), dtype=bool)
        ends = np.searchsorted(self.rows, np.arange(n_queries + 1))
        for rows in list_blocks(n_queries, SORTED_AT_ONCE):
            counts, part = np.diff(ends[rows.start : rows.stop + 1]), slice(ends[rows.start], ends[rows.stop])
            filled = np.arange(max(n, counts.max())) < counts[:, None]
            estimates = np.full(filled.shape, np.inf, dtype=np.float32)
            estimates[filled] = self.estimates[part]
            kept[part] = _find_smallest(estimates, n)[filled]
        return _Hits(self.rows[kept], self.members[kept], self.estimates[kept])

    def spread(self, n_queries: int, n: int) -> np.ndarray:
        """(n_queries, n) members of queries that have no more than n; -1 where they have fewer."""
        members = np.full((n_queries, n), -1, dtype=np.int64)
        members[np.arange(n) < np.bincount(self.rows, minlength=n_queries)[:, None]] = self.members
        return members


def _adapt(search: ListSearch, rows: np.ndarray, true: np.ndarray) -> tuple[ListSearch, float]:
    """The search as far as some queries need it, and the part of their true neighbours (n, k) that it finds."""
    for each in MEASURED_PER_NEIGHBOUR:
        n_measured = min(max(int(each * search.k), LEAST_MEASURED), len(search.voters.array))
        search = replace(search, n_measured=n_measured)
        search = replace(search, reach=search.learn_reach(rows, true))
        recall = _count_found(true, search(rows)[1])
        if recall >= WANTED_RECALL:
            break
    return search, recall


def _find_smallest(values: np.ndarray, n: int) -> np.ndarray:
    """Where the n smallest finite values of each row are; of equal ones the first."""
    limits = np.partition(values, n - 1, axis=1)[:, n - 1 : n]
    near = (values <= limits) & np.isfinite(values)
    if (near.sum(axis=1) > n).any():
        smaller = values < limits
        n_equal = n - smaller.sum(axis=1, keepdims=True)
        near = smaller | (near & (np.cumsum(near & ~smaller, axis=1) <= n_equal))
    return near


def search_all(
    queries: np.ndarray, voters: np.ndarray, k: int, query_bags: np.ndarray | None, voter_bags: np.ndarray | None
) -> np.ndarray:
    """The true neighbours of a few queries, in no order, by matrix products.

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
    for rows in list_blocks(len(voters), VOTERS_AT_ONCE):
        points = centre_points(voters[rows], centre)
        squared = asked @ points.T
        squared += measure_lengths(points)
        if query_bags is not None and voter_bags is not None:
            squared[voter_bags[rows] == query_bags[:, None]] = np.inf
        nearest, indices = _merge(nearest, indices, squared, np.arange(rows.start, rows.stop))
    return indices


def _merge(
    squared: np.ndarray, indices: np.ndarray, more: np.ndarray, numbers: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The nearest of those known, (n, k), and of more, (n, m) with the numbers (m,)."""
    squared, k = np.hstack([squared, more]), squared.shape[1]
    near = _find_smallest(squared, k)
    found = np.hstack([indices, np.broadcast_to(numbers, more.shape)])
    filled = np.arange(k) < near.sum(axis=1)[:, None]
    nearest, whose = np.full(filled.shape, np.inf, dtype=squared.dtype), np.full(filled.shape, -1, dtype=np.int64)
    nearest[filled], whose[filled] = squared[near], found[near]
    return nearest, whose


def _keep_nearest(
    queries: np.ndarray, voters: np.ndarray, candidates: np.ndarray, k: int
) -> tuple[np.ndarray, np.ndarray]:
    gap = np.take(voters, candidates, axis=0)  # (rows, candidates, d)
    gap -= queries[:, None, :]
    squared = np.where(candidates >= 0, np.einsum("ijk,ijk->ij", gap, gap), np.inf).astype(np.float64)
    best = np.lexsort((candidates, squared), axis=1)[:, :k]
    found, distances = np.take_along_axis(candidates, best, 1), np.take_along_axis(squared, best, 1)
    return distances, np.where(np.isfinite(distances), found, -1)


def _count_found(true: np.ndarray, found: np.ndarray) -> float:
    """Part of the true neighbours, row by row, that are among the found ones."""
    hits = [np.isin(one[one >= 0], other) for one, other in zip(true, found, strict=True)]
    return float(np.concatenate(hits).mean()) if any(map(len, hits)) else 1.0
