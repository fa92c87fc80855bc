"""Votes against, each weighed by how surely its voter is background: f_neg with weights."""

from __future__ import annotations

import numpy as np

from segvote.errors import BadInputError
from segvote.kernels import sum_kernel
from segvote.voters.base import BaseVoter
from segvote.voters.kernel_votes import check_bandwidth, find_typical_distance, sum_votes
from segvote.voters.limits import MAX_PAIRS, check_pairs
from segvote.voters.segments import Segments

__all__ = ["WeightedNegatives"]


class WeightedNegatives(BaseVoter):
    """Negative-weighted voting, our reading: ``f(x) = -sum_n v_n^power k(x, n)``.

    The paper names the system as the one whose reduced form is f_neg (eq. 8); its formula is not public. Here the
    weight ``v_n = B_n / (A_n + B_n)`` is the share of the negatives among the votes for n itself, A_n and B_n the mean
    kernels of the *with* and of the other *without* segments of other bags: a negative in the midst of *with* segments,
    by a wrong bag label or because the background is shared, says little.

    Parameters
    ----------
    bandwidth
        Of the Gaussian kernel; None: the median distance from a segment to its tenth nearest negative.
    power
        Of the weights; 0 makes all of them 1, which is f_neg.
    max_pairs
        More pairs of segments than this are refused.

    Attributes
    ----------
    negative_weights_
        (n_negatives,) v, in the order of the training segments.

    References
    ----------
    Wang et al. 2018, as arXiv 1812.06228 mentions it.
    """

    wants_lengths = True

    N_TYPICAL = 10

    def __init__(self, bandwidth: float | None = None, power: float = 1.0, max_pairs: int = MAX_PAIRS) -> None:
        self.bandwidth = bandwidth
        self.power = power
        self.max_pairs = max_pairs

    def _learn(self, segments: Segments) -> np.ndarray:
        if self.power < 0:
            raise BadInputError(f"power must be 0 or above; got {self.power}")
        check_pairs("negative-weighted voting", len(segments), int((~segments.positive).sum()), self.max_pairs)
        X, bags = segments.X, segments.bags
        self._negatives = np.flatnonzero(~segments.positive)
        self._voters, self._voter_bags = X[self._negatives], bags[self._negatives]
        typical = find_typical_distance(X, self._voters, self.N_TYPICAL, bags, self._voter_bags)
        self.bandwidth_ = check_bandwidth(typical if self.bandwidth is None else self.bandwidth)
        votes_for, against = (self._average(segments, side) for side in (segments.positive, ~segments.positive))
        total = votes_for + against
        # Where nobody votes, nothing says that a negative is not background.
        self.negative_weights_ = np.divide(against, total, out=np.ones(len(total)), where=total > 0)
        return self._score(X, bags, segments.prior)

    def _average(self, segments: Segments, side: np.ndarray) -> np.ndarray:
        """(n_negatives,) mean kernel of the segments of one side, own bag left out, at every negative."""
        side_bags = segments.bags[side]
        n_own = np.bincount(side_bags, minlength=segments.n_bags)[self._voter_bags]
        sums = sum_votes(self._voters, segments.X[side], self.bandwidth_, None, self._voter_bags, side_bags)
        return sums / np.maximum(side.sum() - n_own, 1)

    @property
    def _amounts(self) -> np.ndarray:
        return self.negative_weights_**self.power

    def _score(self, X: np.ndarray, bags: np.ndarray, prior: np.ndarray) -> np.ndarray:
        return -sum_votes(X, self._voters, self.bandwidth_, self._amounts, bags, self._voter_bags)

    def _list_votes(self, x: np.ndarray, bag: int, prior: float) -> tuple[np.ndarray, np.ndarray, float]:
        kernels = sum_kernel(self._voters, x[None, :], [self.bandwidth_], None, self._voter_bags, np.array([bag]))[0]
        return self._negatives, -self._amounts * kernels, -self.threshold_
