"""Neighbours in large sets: an inverted index proposes candidates, the full vectors order them.

The index holds the leading principal components, each in four bits, which are scanned several at once. How many of its
lists are looked at is decided by trying: as few as find `WANTED_RECALL` of the true neighbours of a sample. No second
copy of the vectors is made, whatever their number; they and what is found may be mapped from files (see `Room`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from segvote.kernels.room import MEMORY, Lent, Room, cut, get_room

__all__ = [
    "Bags",
    "Index",
    "centre_points",
    "cut_numbers",
    "estimate_index",
    "search_all",
    "search_approximately",
    "search_in_blocks",
]

# Of queries and of voters.
Bags = tuple[np.ndarray, np.ndarray]

N_COMPONENTS = 192
# Up to so many components are kept as they are: four bits would tell too little of them.
FEW_COMPONENTS = 32
# How long, and of how many voters each, the sixteen values of a component are learned.
CODE_ROUNDS, CODE_POINTS = 8, 64
# Times the root of the number of voters: the lists. More are shorter, and cost more to choose from.
LISTS_PER_ROOT = 4
# Voters of which a list is learned; of fewer it would be guessed.
TRAINING_PER_LIST = 48
# The search looks no further once it finds this part of the true neighbours of so many queries.
WANTED_RECALL = 0.97
N_SAMPLED = 400
# Where it never does, so much less than the most that it can find is as good.
NEARLY = 0.005
FEWEST_LISTS_SEEN = 8
# Above this part of the lists, looking at all pairs is not much slower.
MOST_LISTS_SEEN = 1 / 4
# Per neighbour wanted, tried in this order. Of 40,000 segments of photographs the first finds 98 % of what the last
# does; the denser a set, the more are wanted.
CANDIDATES_AND_MEASURED = ((3, 2), (4, 3), (5, 4), (8, 6), (12, 9), (16, 12))
# One neighbour alone still wants a choice.
LEAST_CANDIDATES = 24
# Candidates' vectors measured at once, in bytes: so few that they stay in the processor's cache.
MEASURED_BYTES = 1 << 21
# What one thread, or one worker elsewhere, searches and hands back.
QUERIES_AT_ONCE = 4096
VOTERS_AT_ONCE = 32_768


@dataclass(frozen=True)
class _Effort:
    """How hard an index looks: lists seen; candidates, and those measured from the full vectors, per neighbour wanted.

    There are more candidates than wanted because some are of the query's own bag, and because components do not tell
    everything.
    """

    n_lists: int
    n_candidates: int
    n_measured: int


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
        As from `search_with_recall`; or None where the index finds fewer: the features have no structure.
    """
    index = Index(voters, room := get_room())
    rows = np.linspace(0, len(queries) - 1, min(N_SAMPLED, len(queries))).astype(np.int64)
    bags: Bags | None = None if query_bags is None or voter_bags is None else (query_bags, voter_bags)
    sample = bags and (bags[0][rows], bags[1])
    asked = queries[rows]
    true = search_all(asked, voters, k, *(sample or (None, None)))

    def measure(effort: _Effort) -> float:
        return _count_found(true, index.search(asked, k, sample, effort)[1])

    effort, recall = _choose_effort(index.list_efforts(), measure)
    if recall < least_recall:
        return None
    # A sample cannot prove that nothing is missed: 1 is said where all pairs were looked at.
    lent = bags and (room.lend(bags[0]), room.lend(bags[1]))
    search = _IndexSearch(index, room.lend(queries), lent, k, effort)
    # Neighbours look at the same lists: asked together, they find them in the processor's cache.
    order = np.argsort(index.find_lists(queries), kind="stable")
    return *search_in_blocks(search, cut_numbers(order, QUERIES_AT_ONCE), k), min(recall, 0.9999)


def cut_numbers(numbers: np.ndarray, size: int) -> list[np.ndarray]:
    """Blocks of at most `size` of them."""
    return [numbers[rows] for rows in cut(len(numbers), size)]


def search_in_blocks(
    search: Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]], blocks: Sequence[np.ndarray], k: int
) -> tuple[np.ndarray, np.ndarray]:
    """What `search` finds for blocks that hold the number of each query once, put together in the room we are in."""
    room, n_queries = get_room(), sum(map(len, blocks))
    squared = room.make_array((n_queries, k), np.float64)
    indices = room.make_array((n_queries, k), np.int64)
    for rows, found in zip(blocks, room.run(search, blocks), strict=True):
        squared[rows], indices[rows] = found
    return squared, indices


def _choose_effort(efforts: list[list[_Effort]], measure: Callable[[_Effort], float]) -> tuple[_Effort, float]:
    """The least effort that finds enough, in the first row of efforts whose last one does.

    Where none does, the least that finds nearly as much as the very last: more lists do not help where the components
    are what cannot tell.
    """
    for row in efforts:
        most = measure(row[-1])
        if most >= WANTED_RECALL:
            break
    enough = WANTED_RECALL if most >= WANTED_RECALL else most - NEARLY
    for effort in row[:-1]:
        if (recall := measure(effort)) >= enough:
            return effort, recall
    return row[-1], most


class Index:
    """An inverted index over the leading principal components of the voters.

    Parameters
    ----------
    voters
        (n_voters, d); kept, not copied.
    room
        Where the voters lie; other processes open the index by its file.
    """

    def __init__(self, voters: np.ndarray, room: Room = MEMORY) -> None:
        self.centre = voters.mean(axis=0, dtype=np.float64)
        self.n_lists = _count_lists(len(voters))
        self._voters = room.lend(voters)
        self._lent = room.lend_index(self._build(voters))

    def _build(self, voters: np.ndarray) -> Any:
        import faiss

        index = faiss.index_factory(voters.shape[1], _name_kind(voters.shape[1], self.n_lists))
        codes: Any = getattr(faiss.downcast_index(faiss.extract_index_ivf(index)), "pq", None)
        if codes is not None:
            codes.cp.niter, codes.cp.max_points_per_centroid = CODE_ROUNDS, CODE_POINTS
        index.train(centre_points(voters[:: _find_step(len(voters))], self.centre))
        for rows in cut(len(voters), VOTERS_AT_ONCE):
            index.add(centre_points(voters[rows], self.centre))
        return index

    def list_efforts(self) -> list[list[_Effort]]:
        """Efforts to try: in a row those that look at more and more lists; each row measures more candidates."""
        most = max(1, int(MOST_LISTS_SEEN * self.n_lists))
        n_lists = [FEWEST_LISTS_SEEN << i for i in range(12) if FEWEST_LISTS_SEEN << i < most] + [most]
        return [[_Effort(n, *each) for n in n_lists] for each in CANDIDATES_AND_MEASURED]

    def search(self, queries: np.ndarray, k: int, bags: Bags | None, effort: _Effort) -> tuple[np.ndarray, np.ndarray]:
        """Squared distances and indices of most of the k nearest voters, as `search_neighbours` gives them."""
        candidates = self._propose(queries, k, bags, effort)
        n_at_once = max(1, MEASURED_BYTES // (4 * queries.shape[1] * candidates.shape[1]))
        found = [
            _keep_nearest(queries[rows], self._voters.array, candidates[rows], k)
            for rows in cut(len(queries), n_at_once)
        ]
        return np.concatenate([one[0] for one in found]), np.concatenate([one[1] for one in found])

    def _propose(self, queries: np.ndarray, k: int, bags: Bags | None, effort: _Effort) -> np.ndarray:
        """(n_queries, n) the most promising voters, -1 where there are fewer."""
        lists, asked = self._open_lists(queries)
        lists.nprobe = effort.n_lists
        candidates = lists.search(asked, max(effort.n_candidates * k, LEAST_CANDIDATES))[1]
        usable = candidates >= 0
        if bags is not None:
            usable &= bags[1][candidates] != bags[0][:, None]
        # The index proposes the nearest first: the first usable ones are the promising ones.
        return _take_first(candidates, usable, max(effort.n_measured * k, LEAST_CANDIDATES))

    def find_lists(self, queries: np.ndarray) -> np.ndarray:
        """(n_queries,) the list that each is nearest to."""
        found = []
        for rows in cut(len(queries), VOTERS_AT_ONCE):
            lists, asked = self._open_lists(queries[rows])
            found.append(lists.quantizer.search(asked, 1)[1][:, 0])
        return np.concatenate(found)

    def _open_lists(self, queries: np.ndarray) -> tuple[Any, np.ndarray]:
        """The lists, and the queries as they are compared there."""
        import faiss

        index, asked = self._lent.index, centre_points(queries, self.centre)
        if isinstance(index, faiss.IndexPreTransform):
            asked = faiss.downcast_VectorTransform(index.chain.at(0)).apply(asked)  # type: ignore[attr-defined]
        return faiss.extract_index_ivf(index), asked


@dataclass(frozen=True)
class _IndexSearch:
    """Numbers of queries to what an index finds for them, here or elsewhere."""

    index: Index
    queries: Lent
    bags: tuple[Lent, Lent] | None
    k: int
    effort: _Effort

    def __call__(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        bags = self.bags and (self.bags[0].array[rows], self.bags[1].array)
        return self.index.search(self.queries.array[rows], self.k, bags, self.effort)


def _take_first(values: np.ndarray, usable: np.ndarray, n: int) -> np.ndarray:
    """The first n usable values of each row, in their order, -1 where there are fewer."""
    place = np.cumsum(usable, axis=1, dtype=np.int32)
    taken = usable & (place <= n)
    first = np.full((len(values), min(n, values.shape[1])), -1, dtype=values.dtype)
    first[np.nonzero(taken)[0], place[taken] - 1] = values[taken]
    return first


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
    asked = centre_points(queries, centre)
    nearest = np.full((len(queries), k), np.inf, dtype=np.float32)
    indices = np.full((len(queries), k), -1, dtype=np.int64)
    for rows in cut(len(voters), VOTERS_AT_ONCE):
        points = centre_points(voters[rows], centre)
        squared = np.einsum("ij,ij->i", points, points) - 2 * asked @ points.T
        if query_bags is not None and voter_bags is not None:
            squared[voter_bags[rows] == query_bags[:, None]] = np.inf
        nearest, indices = _merge(nearest, indices, squared, np.arange(rows.start, rows.stop))
    return np.where(np.isfinite(nearest), indices, -1)


def centre_points(points: np.ndarray, centre: np.ndarray) -> np.ndarray:
    """Points about a centre in float32, subtracted in float64 without a copy of that size."""
    return np.subtract(points, centre, out=np.empty(points.shape, dtype=np.float32), casting="same_kind")


def estimate_index(n_voters: int, n_dims: int) -> int:
    """Bytes of an index in memory, and of what it is learned from."""
    n_components = min(n_dims, N_COMPONENTS)
    each = 4 * n_components if n_components <= FEW_COMPONENTS else n_components / 2
    # A number for each; lists that grow, and are filled up to whole blocks, take half as much again.
    index = 1.5 * (each + 8) * n_voters
    # Faiss learns from a copy of what it is given.
    return int(max(index, 8 * n_dims * -(-n_voters // _find_step(n_voters))))


def _name_kind(n_dims: int, n_lists: int) -> str:
    """What faiss calls the index."""
    components = f"PCA{N_COMPONENTS}," if n_dims > N_COMPONENTS else ""
    n_components = min(n_dims, N_COMPONENTS)
    codes = "Flat" if n_components <= FEW_COMPONENTS else f"PQ{n_components}x4fs"
    return f"{components}IVF{n_lists},{codes}"


def _find_step(n_voters: int) -> int:
    """Every so many voters are learned from; not a random draw: the same sample on every machine."""
    return max(1, n_voters // (TRAINING_PER_LIST * _count_lists(n_voters)))


def _count_lists(n_voters: int) -> int:
    """A power of two, about so many times the root, of lists long enough to be learned."""
    wanted = min(LISTS_PER_ROOT * np.sqrt(n_voters), n_voters / TRAINING_PER_LIST)
    return 1 << max(2, int(np.log2(max(wanted, 1)) + 0.1))


def _merge(
    squared: np.ndarray, indices: np.ndarray, more: np.ndarray, numbers: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The nearest of those known, (n, k), and of more, (n, m) with the numbers (m,)."""
    k = squared.shape[1]
    if more.shape[1] > k:
        # First the k nearest of the many, then those of twice k.
        nearest = np.argpartition(more, k - 1, axis=1)[:, :k]
        more, found = np.take_along_axis(more, nearest, 1), numbers[nearest]
    else:
        found = np.broadcast_to(numbers, more.shape)
    squared, indices = np.hstack([squared, more]), np.hstack([indices, found])
    nearest = np.argpartition(squared, k - 1, axis=1)[:, :k]
    return np.take_along_axis(squared, nearest, 1), np.take_along_axis(indices, nearest, 1)


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
