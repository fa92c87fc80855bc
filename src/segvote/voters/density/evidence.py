"""Evidence confidence, our reading: diverse density evaluated at the observed segments, no search.

``log DD(x) = sum_with log(1 - prod_j (1 - k(x, x_ij))) + sum_without sum_j log(1 - k(x, x_ij))`` with one Gaussian
kernel k. It is the same question diverse density asks, put to every segment instead of to every point of space:
quadratic in the number of segments, but without local maxima, and several concepts may hold at once.
"""

from __future__ import annotations

import numpy as np
from sklearn.utils import gen_batches

from segvote.kernels.gaussian import fill_up
from segvote.voters.base import BaseVoter, Votes
from segvote.voters.kernel_votes import MAX_PAIRS, check_pairs, choose_bandwidth
from segvote.voters.mil.learning_bags import group_bags
from segvote.voters.segments import Segments

QUERIES_PER_BLOCK = 128
# A *with* bag in which nothing is near counts as if it were filed wrongly this often: its logarithm stays finite.
MISFILED = 1e-3
# A segment equal to a negative is background to this precision.
LARGEST_KERNEL = 1 - 1e-6


class Evidence(BaseVoter):
    """Evidence confidence, our reading of the name: diverse density at the segments themselves.

    The sum over the bags of each label is multiplied by all bags over those counted, because a segment's own bag is not
    counted.

    Parameters
    ----------
    bandwidth
        Of the Gaussian kernel; None: the median distance from a segment to its ten nearest segments of other bags.
    max_pairs
        More pairs of segments than this are refused.

    References
    ----------
    The name is that of arXiv 1812.06228; diverse density: Maron, Lozano-Pérez, NIPS 1997.
    """

    wants_lengths = True

    def __init__(self, bandwidth: float | None = None, max_pairs: int = MAX_PAIRS) -> None:
        self.bandwidth = bandwidth
        self.max_pairs = max_pairs

    def _learn(self, segments: Segments) -> np.ndarray:
        check_pairs("evidence confidence", len(segments), len(segments), self.max_pairs)
        X, bags = segments.X, segments.bags
        self.bandwidth_ = choose_bandwidth(self.bandwidth, X, X, bags, bags)
        self._groups = group_bags(segments)
        self._group_bags = bags[self._groups.rows[self._groups.starts]]
        self._center = self._groups.X.mean(axis=0)
        self._voters = _append_norms(self._groups.X - self._center)
        return self._score(X, bags, segments.prior)

    def _score(self, X: np.ndarray, bags: np.ndarray, prior: np.ndarray) -> np.ndarray:
        check_pairs("evidence confidence", len(X), len(self._voters), self.max_pairs)
        blocks = gen_batches(len(X), QUERIES_PER_BLOCK)
        return np.concatenate([self._list_bag_votes(X[rows], bags[rows]).sum(axis=1) for rows in blocks])

    def _list_bag_votes(self, X: np.ndarray, bags: np.ndarray) -> np.ndarray:
        """(n, n_bags) what every bag adds to log DD; 0 for one's own."""
        groups = self._groups
        background = np.add.reduceat(np.log1p(-self._measure(X)), groups.starts, axis=1).astype(np.float64)
        some_object = np.log(MISFILED - (1 - MISFILED) * np.expm1(background))
        votes = np.where(groups.labels, some_object, background)
        votes[bags[:, None] == self._group_bags] = 0.0
        for side in (groups.labels, ~groups.labels):
            n_counted = (bags[:, None] != self._group_bags[side]).sum(axis=1, keepdims=True)
            votes[:, side] *= side.sum() / np.maximum(n_counted, 1)
        return votes

    def _measure(self, X: np.ndarray) -> np.ndarray:
        """(n, n_voters) float32 kernels by one product."""
        queries = _prepend_norms(fill_up(X) - self._center)
        half = queries @ self._voters.T
        half *= np.float32(1 / self.bandwidth_**2)
        return np.minimum(np.exp(np.minimum(half, 0, out=half), out=half), np.float32(LARGEST_KERNEL))[: len(X)]

    def _list_votes(self, x: np.ndarray, bag: int, prior: float) -> Votes:
        """A bag speaks through its most similar segment."""
        amounts = self._list_bag_votes(x[None, :], np.array([bag]))[0]
        speakers = self._groups.find_best(self._measure(x[None, :])[0])
        counted = self._group_bags != bag
        return self._groups.rows[speakers[counted]], amounts[counted], -self.threshold_


def _append_norms(X: np.ndarray) -> np.ndarray:
    return np.column_stack([X, np.ones(len(X)), -0.5 * np.einsum("ij,ij->i", X, X)]).astype(np.float32)


def _prepend_norms(X: np.ndarray) -> np.ndarray:
    """The other half of a product that is minus half the squared distance."""
    return np.column_stack([X, -0.5 * np.einsum("ij,ij->i", X, X), np.ones(len(X))]).astype(np.float32)
