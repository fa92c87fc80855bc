"""Bases of the voters that are sums: Gaussian kernels with one bandwidth, or nearest neighbours, each with its own."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy import sparse

from segvote.errors import BadInputError, TooLargeError
from segvote.numerics import search_neighbours, sum_kernel
from segvote.voters.base import BaseVoter, Segments, Votes

# A hundred thousand segments with a hundred thousand: a few minutes on one processor.
MAX_PAIRS = 10**10
# The default bandwidth is the median distance to this number of nearest segments.
N_TYPICAL = 10


def check_pairs(voter: str, n_segments: int, n_voters: int, max_pairs: int = 0) -> None:
    """Raise for more than `max_pairs` pairs of segments (0: `MAX_PAIRS`), in a message that begins with `voter`."""
    max_pairs = max_pairs or MAX_PAIRS
    if n_segments * n_voters > max_pairs:
        raise TooLargeError(
            f"{voter} looks at all pairs of segments, at most {max_pairs:.0e}; got {n_segments} x {n_voters}. "
            "Use voter ekde, or fewer segments or images"
        )


def choose_bandwidth(
    given: float | None,
    X: np.ndarray,
    voters: np.ndarray,
    bags: np.ndarray | None = None,
    voter_bags: np.ndarray | None = None,
) -> float:
    """The bandwidth that was given, or the median distance from X to the ten nearest voters of other bags.

    That is 1 where it would be 0 or there are no voters.
    """
    if given is None:
        nearest = search_neighbours(X, voters, N_TYPICAL, bags, voter_bags)
        squared = nearest.squared[nearest.indices >= 0]
        return float(np.sqrt(np.median(squared))) or 1.0 if len(squared) else 1.0
    if not given > 0:
        raise BadInputError(f"bandwidth must be above 0 or None; got {given}")
    return float(given)


def average_kernels(segments: Segments, rows: np.ndarray, side: np.ndarray, bandwidths: Sequence[float]) -> np.ndarray:
    """(n_bandwidths, n_rows) mean kernel at some segments of the segments of one side (n,) that lie in other bags."""
    bags, voter_bags = segments.bags[rows], segments.bags[side]
    n_others = side.sum() - np.bincount(voter_bags, minlength=segments.n_bags)[bags]
    sums = sum_kernel(segments.X[rows], segments.X[side], bandwidths, None, bags, voter_bags)
    return sums / np.maximum(n_others, 1)


class KernelVoter(BaseVoter):
    """Base of the voters ``f(x) = sum_i a_i k(x, x_i)`` over training segments of other bags than x's own.

    A voter sets `bandwidth_` and `_amounts` (a) after `_choose_voters`.
    """

    def _choose_voters(self, segments: Segments, rows: np.ndarray) -> None:
        self._rows, self._voters, self._voter_bags = rows, segments.X[rows], segments.bags[rows]

    def _score(self, X: np.ndarray, bags: np.ndarray, prior: np.ndarray) -> np.ndarray:
        return sum_kernel(X, self._voters, [self.bandwidth_], self._amounts, bags, self._voter_bags)[0]

    def _list_votes(self, x: np.ndarray, bag: int, prior: float) -> Votes:
        # With x as the only voter, the sum at every segment is one kernel.
        kernels = sum_kernel(self._voters, x[None, :], [self.bandwidth_], None, self._voter_bags, np.array([bag]))[0]
        return self._rows, self._amounts * kernels, -self.threshold_


class NeighbourVoter(BaseVoter):
    """Base of the voters ``f(x) = sum_j M_xj w_j``: M the votes of the nearest segments, rows sum to one.

    A voter keeps the segments that vote as `_voters`.
    """

    n_neighbors: int
    _voters: Segments

    def _build_graph(self, X: np.ndarray, bags: np.ndarray) -> sparse.csr_matrix:
        return search_neighbours(X, self._voters.X, self.n_neighbors, bags, self._voters.bags).build_graph()

    def _split_row(self, row: sparse.csr_matrix, weights: np.ndarray) -> Votes:
        """Every neighbour j adds ``M_xj (w_j - threshold)``."""
        amounts = row.data * (weights[row.indices] - self.threshold_)
        # A segment without votes still has to reach the threshold.
        return row.indices.astype(np.int64), amounts, -self.threshold_ * (1 - row.data.sum())
