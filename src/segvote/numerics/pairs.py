"""Candidates for the nearest neighbours within one set: every pair is measured once, for both of its points.

Each point gets a bound first, its closeness to the r-th nearest of a sample of one point in sixteen: some sixteen times
r points are closer. Blocks of all pairs then give the few that are within the bound of either point.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise

import numpy as np
from scipy import sparse

from segvote.numerics.points import list_blocks
from segvote.numerics.threads import map_in_threads

# Of how many points one is in the sample; standard deviations by which the sample may err.
SAMPLED, DEVIATIONS = 16, 3.0
# Points of a side of a block, whose pairs stay in the processor's cache; points that are compared with the sample at
# once.
SIDE, ROWS_AT_ONCE = 512, 1024
# Shares of the points for which neighbours are chosen one after the other.
N_SHARES = 8
# Where many points are equal, rounding decides which pairs are within a bound. If so many times as many as expected may
# be, they are not listed; a closeness is exact to about this part of the length of a point.
CROWDED, ROUNDING = 3, 1e-5

# First points, second points, and how close they are.
Pairs = tuple[np.ndarray, np.ndarray, np.ndarray]


def propose_nearest(points: np.ndarray, bags: np.ndarray, n_wanted: int) -> np.ndarray:
    """(n, n_wanted) nearest points of other bags, in no order; a row of -1 where fewer are within the bound.

    Points (n, d) are float32 and centred, bags (n,) their numbers. All rows are -1 where points are `CROWDED`.
    """
    search = _PairSearch(points, bags, np.einsum("ij,ij->i", points, points) / 2)
    rows, n_sampled = list_blocks(len(points), ROWS_AT_ONCE), _count_sampled(n_wanted)
    parts = map_in_threads(partial(search.find_bounds, n_sampled), rows)
    bounds, counts = (np.concatenate(part) for part in zip(*parts, strict=True))
    if counts.mean() > CROWDED * n_sampled:
        return np.full((len(points), n_wanted), -1)
    near = map_in_threads(partial(search.list_near, bounds), list_blocks(len(points), SIDE))
    # For a share of the points at a time: a second copy of all pairs would be the largest array of a vote.
    shares = list_blocks(len(points), -(-len(points) // N_SHARES))
    return np.concatenate([_choose_closest(_gather(near, rows, len(points)), n_wanted) for rows in shares])


@dataclass(frozen=True, eq=False)
class _PairSearch:
    points: np.ndarray  # (n, d)
    bags: np.ndarray  # (n,)
    halves: np.ndarray  # (n,) half of the squared lengths of the points

    def find_bounds(self, n_sampled: int, rows: slice) -> tuple[np.ndarray, np.ndarray]:
        """The closeness of some points to the r-th nearest of other bags in the sample, -inf where there are fewer.

        And how many of the sample are as close, or nearly so.
        """
        closeness = self._measure(rows, slice(0, None, SAMPLED))
        closeness[self.bags[rows, None] == self.bags[::SAMPLED]] = -np.inf
        place = max(closeness.shape[1] - n_sampled, 0)
        bounds = np.partition(closeness, place, axis=1)[:, place]
        least = np.maximum(bounds - ROUNDING * self.halves[rows], np.finfo(np.float32).min)
        return bounds, (closeness >= least[:, None]).sum(axis=1)

    def list_near(self, bounds: np.ndarray, rows: slice) -> Pairs:
        """Pairs of other bags within the bound of the first point; one point is in `rows`, the other not before it."""
        blocks = list_blocks(len(self.points), SIDE)[rows.start // SIDE :]
        first, second, closeness = _join(
            pairs for columns in blocks for pairs in self._list_block(bounds, rows, columns)
        )
        return first.astype(np.int32), second.astype(np.int32), closeness

    def _list_block(self, bounds: np.ndarray, rows: slice, columns: slice) -> Iterator[Pairs]:
        own = {*self.bags[rows].tolist()} & {*self.bags[columns].tolist()}
        closeness = self._measure(rows, columns)
        if own:
            closeness[self.bags[rows, None] == self.bags[columns]] = -np.inf
        places = np.flatnonzero(closeness > np.minimum(bounds[rows, None], bounds[columns]))
        first, second = np.divmod(places, closeness.shape[1])
        first, second, closeness = first + rows.start, second + columns.start, closeness.ravel()[places]
        # A block on the diagonal has each pair twice already.
        for one, other in ((first, second), (second, first))[: 1 if rows == columns else 2]:
            is_near = closeness > bounds[one]
            yield one[is_near], other[is_near], closeness[is_near]

    def _measure(self, rows: slice, columns: slice) -> np.ndarray:
        """Closeness of all pairs: minus half the squared distance."""
        closeness = self.points[rows] @ self.points[columns].T
        closeness -= self.halves[columns]
        closeness -= self.halves[rows, None]
        return np.asarray(closeness)


def _gather(near: Sequence[Pairs], rows: slice, n_points: int) -> sparse.csr_matrix:
    """(n_rows, n_points) the closeness of the pairs whose first point is in `rows`."""
    inside = [(first >= rows.start) & (first < rows.stop) for first, _, _ in near]
    first, second, closeness = _join(
        (pairs[0][is_inside] - rows.start, pairs[1][is_inside], pairs[2][is_inside])
        for pairs, is_inside in zip(near, inside, strict=True)
    )
    return sparse.coo_matrix((closeness, (first, second)), shape=(rows.stop - rows.start, n_points)).tocsr()


def _join(pairs: Iterator[Pairs]) -> Pairs:
    first, second, closeness = (np.concatenate(parts) for parts in zip(*pairs, strict=True))
    return first, second, closeness


def _count_sampled(n_wanted: int) -> int:
    """r: so many of the sample that the wanted points nearly always lie within."""
    expected = n_wanted / SAMPLED
    return int(np.ceil(expected + DEVIATIONS * np.sqrt(expected)))


def _choose_closest(near: sparse.csr_matrix, n_wanted: int) -> np.ndarray:
    """(n, n_wanted) columns of the highest values of each row; -1 in rows with fewer."""
    chosen = np.full((near.shape[0], n_wanted), -1, dtype=np.int64)
    for row, (start, end) in enumerate(pairwise(near.indptr.tolist())):
        if end - start >= n_wanted:
            chosen[row] = near.indices[start + np.argpartition(near.data[start:end], -n_wanted)[-n_wanted:]]
    return chosen
