"""Candidates for the nearest neighbours among all pairs of one set, every pair measured once and used for both.

A bound for each point comes first: the distance to its r-th nearest in a sample of one point in sixteen, within which
some sixteen times r points lie. A block of distances then gives, by its rows and by its columns, the pairs within the
bounds; few are left, and the nearest of each point are chosen among them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from segvote.kernels.blocks import list_blocks, run_blocks

# Of how many points one is in the sample.
SAMPLED = 16
# Points of a side of a block: its distances stay in the processor's cache. Points that are compared with the sample, or
# chosen for, at once.
SIDE, ROWS_AT_ONCE = 512, 1024
# Standard deviations by which the sample may err to either side.
DEVIATIONS = 3.0


def propose_nearest(points: np.ndarray, bags: np.ndarray, n_wanted: int) -> np.ndarray:
    """The nearest points of other bags, by distances in float32.

    Parameters
    ----------
    points
        (n, d) float32, centred.
    bags
        (n,) integers.
    n_wanted
        How many of each.

    Returns
    -------
    (n, n_wanted) int64 in no order; a row of -1 where the bound was too narrow, or there are fewer.
    """
    halves = np.einsum("ij,ij->i", points, points) / 2
    search = _PairSearch(points, bags, halves, np.empty(0), n_wanted)
    rows = list_blocks(len(points), ROWS_AT_ONCE)
    bounded = _PairSearch(points, bags, halves, np.concatenate(list(run_blocks(search.find_bounds, rows))), n_wanted)
    pairs = list(run_blocks(bounded.list_near, list_blocks(len(points), SIDE)))
    ends, others, values = (np.concatenate(parts) for parts in zip(*pairs, strict=True))
    del pairs
    near = sparse.coo_matrix((values, (ends, others)), shape=(len(points), len(points))).tocsr()
    return _choose_highest(near, n_wanted)


@dataclass(frozen=True)
class _PairSearch:
    """Points and what is known of them.

    Attributes
    ----------
    points, bags
        (n, d); (n,).
    halves
        (n,) half of their squared lengths.
    bounds
        (n,) the least closeness that counts: minus half the squared distance.
    n_wanted
        Neighbours of each.
    """

    points: np.ndarray
    bags: np.ndarray
    halves: np.ndarray
    bounds: np.ndarray
    n_wanted: int

    def find_bounds(self, rows: slice) -> np.ndarray:
        """Of some points, the closeness of the r-th nearest of other bags in the sample."""
        sample = np.arange(0, len(self.points), SAMPLED)
        closeness = self._measure(rows, sample)
        closeness[self.bags[rows, None] == self.bags[sample]] = -np.inf
        place = max(len(sample) - _count_sampled(self.n_wanted), 0)
        return np.partition(closeness, place, axis=1)[:, place]

    def list_near(self, rows: slice) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Pairs of other bags within the bound of their first end, one end of which is in a block and none before it.

        First ends, second ends (both int32) and closeness.
        """
        found = [
            self._list_block(rows, columns) for columns in list_blocks(len(self.points), SIDE)[rows.start // SIDE :]
        ]
        ends, others, values = (np.concatenate(parts) for parts in zip(*found, strict=True))
        return ends.astype(np.int32), others.astype(np.int32), values

    def _list_block(self, rows: slice, columns: slice) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        closeness = self._measure(rows, columns)
        is_near = closeness > self.bounds[rows, None]
        is_near |= closeness > self.bounds[columns]
        places = np.flatnonzero(is_near)
        first, second = places // closeness.shape[1] + rows.start, places % closeness.shape[1] + columns.start
        values, is_other = closeness.ravel()[places], self.bags[first] != self.bags[second]
        here = is_other & (values > self.bounds[first])
        # A block on the diagonal holds every pair twice already.
        there = is_other & (values > self.bounds[second]) & (columns.start != rows.start)
        ends = np.concatenate([first[here], second[there]])
        return ends, np.concatenate([second[here], first[there]]), np.concatenate([values[here], values[there]])

    def _measure(self, rows: slice, columns: slice | np.ndarray) -> np.ndarray:
        """Minus half the squared distances."""
        closeness = self.points[rows] @ self.points[columns].T
        closeness -= self.halves[columns]
        closeness -= self.halves[rows, None]
        return closeness


def _count_sampled(n_wanted: int) -> int:
    """r: so many of the sample that the wanted ones nearly always lie within."""
    expected = n_wanted / SAMPLED
    return int(np.ceil(expected + DEVIATIONS * np.sqrt(expected)))


def _choose_highest(near: sparse.csr_matrix, n_wanted: int) -> np.ndarray:
    """(n, n_wanted) columns of the highest values of each row; -1 in rows with fewer."""
    counts = np.diff(near.indptr)
    chosen = np.full((len(counts), n_wanted), -1, dtype=np.int64)
    # Rows of about the same length together.
    order = np.argsort(counts, kind="stable")
    enough = order[counts[order] >= n_wanted]
    for part in list_blocks(len(enough), ROWS_AT_ONCE):
        rows = enough[part]
        steps = np.arange(int(counts[rows].max()))
        inside = steps < counts[rows, None]
        places = np.where(inside, near.indptr[rows, None] + steps, 0)
        far = np.where(inside, -near.data[places], np.inf)
        best = np.argpartition(far, n_wanted - 1, axis=1)[:, :n_wanted]
        chosen[rows] = near.indices[np.take_along_axis(places, best, axis=1)]
    return chosen
