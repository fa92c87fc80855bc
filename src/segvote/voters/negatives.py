"""Voters that listen to *without* segments only: what no negative resembles must be the thing."""

from __future__ import annotations

import numpy as np

from segvote.errors import BadInputError
from segvote.kernels import SampledKernel, search_neighbours, sum_kernel
from segvote.voters.base import N_NEIGHBORS, BaseVoter
from segvote.voters.kernel_votes import find_typical_distance, measure_relative_error, sum_votes
from segvote.voters.limits import MAX_PAIRS
from segvote.voters.segments import Segments

__all__ = ["NegMin", "NegativeVotes"]


class NegMin(BaseVoter):
    """Negative mining: the farther from the nearest *without* segment, the more object.

    Parameters
    ----------
    reading
        ``"global"``: distance to the one nearest negative (the text of the paper); ``"bag"``: mean over the *without*
        bags of the distance to the nearest segment of that bag (its eq. 1 as printed).

    References
    ----------
    Siva, Russell, Xiang: In defence of negative mining for annotating weakly labelled data. ECCV 2012.
    """

    READINGS = ("global", "bag")

    def __init__(self, reading: str = "global") -> None:
        self.reading = reading

    def _learn(self, segments: Segments) -> np.ndarray:
        if self.reading not in self.READINGS:
            raise BadInputError(f"reading must be one of {', '.join(self.READINGS)}; got {self.reading!r}")
        self._negatives = np.flatnonzero(~segments.positive)
        self._voters, self._voter_bags = segments.X[self._negatives], segments.bags[self._negatives]
        if not self.has_neighbours:
            return self._score(segments.X, segments.bags, segments.prior)
        squared = self._find_neighbours(segments).find_nearest(~segments.positive)
        scores, missed = np.sqrt(squared), np.isinf(squared)
        scores[missed] = self._score(segments.X[missed], segments.bags[missed], segments.prior[missed])
        return scores

    @property
    def n_searched(self) -> int:
        # Most have a negative among as many neighbours as other voters ask for.
        return N_NEIGHBORS if self.reading == "global" else 0

    def _score(self, X: np.ndarray, bags: np.ndarray, prior: np.ndarray) -> np.ndarray:
        if self.reading == "bag":
            return _mean_nearest_per_bag(X, bags, self._voters, self._voter_bags)
        squared = search_neighbours(X, self._voters, 1, bags, self._voter_bags)[0][:, 0]
        return _fill_missing(np.sqrt(squared))

    def _list_votes(self, x: np.ndarray, bag: int, prior: float) -> tuple[np.ndarray, np.ndarray, float]:
        if self.reading == "bag":
            return super()._list_votes(x, bag, prior)
        squared, index = search_neighbours(x[None, :], self._voters, 1, np.array([bag]), self._voter_bags)
        if index[0, 0] < 0:
            return np.empty(0, dtype=np.int64), np.empty(0), -self.threshold_
        return self._negatives[index[0]], np.sqrt(squared[0]), -self.threshold_


def _mean_nearest_per_bag(X: np.ndarray, bags: np.ndarray, voters: np.ndarray, voter_bags: np.ndarray) -> np.ndarray:
    total, heard = np.zeros(len(X)), np.zeros(len(X))
    for bag in np.unique(voter_bags):
        squared = search_neighbours(X, voters[voter_bags == bag], 1)[0][:, 0]
        foreign = bags != bag
        total += np.where(foreign, np.sqrt(squared), 0.0)
        heard += foreign
    return np.divide(total, heard, out=np.zeros(len(X)), where=heard > 0)


def _fill_missing(distances: np.ndarray) -> np.ndarray:
    """A segment of the only *without* bag hears no negative: it is as near to them as can be."""
    return np.where(np.isfinite(distances), distances, 0.0)


class NegativeVotes(BaseVoter):
    """Votes against, summed over all *without* segments: ``f_neg(x) = -sum_n k(x, n)`` (eq. 8).

    Parameters
    ----------
    bandwidth
        Of the Gaussian kernel; None: the median distance from a segment to its tenth nearest negative.
    max_pairs
        Above this many pairs of segments the sums of a fit are estimated: near negatives exactly, the far ones by a
        sample (see `segvote.kernels.sampled`).

    Attributes
    ----------
    kernel_error_
        Standard error of a sum relative to it, where the sums were estimated: of 95 % of the segments less; else None.
    """

    N_TYPICAL = 10

    def __init__(self, bandwidth: float | None = None, max_pairs: int = MAX_PAIRS) -> None:
        self.bandwidth = bandwidth
        self.max_pairs = max_pairs

    def _learn(self, segments: Segments) -> np.ndarray:
        self._negatives = np.flatnonzero(~segments.positive)
        self._voters, self._voter_bags = segments.X[self._negatives], segments.bags[self._negatives]
        self.bandwidth_ = self._choose_bandwidth(segments) if self.bandwidth is None else self.bandwidth
        self.kernel_error_: float | None = None
        if len(segments) * len(self._voters) > self.max_pairs:
            return self._estimate(segments)
        return self._score(segments.X, segments.bags, segments.prior)

    def _estimate(self, segments: Segments) -> np.ndarray:
        kernel = SampledKernel(segments.X, self._voters, self.bandwidth_, segments.bags, self._voter_bags)
        ones = np.ones(len(self._voters))
        sums = kernel.multiply(ones)
        self.kernel_error_ = measure_relative_error(kernel.measure_error(ones), sums)
        return -sums

    def _choose_bandwidth(self, segments: Segments) -> float:
        return find_typical_distance(segments.X, self._voters, self.N_TYPICAL, segments.bags, self._voter_bags)

    def _score(self, X: np.ndarray, bags: np.ndarray, prior: np.ndarray) -> np.ndarray:
        return -sum_votes(X, self._voters, self.bandwidth_, None, bags, self._voter_bags)

    def _list_votes(self, x: np.ndarray, bag: int, prior: float) -> tuple[np.ndarray, np.ndarray, float]:
        # One column per voter: the sum of one kernel each.
        kernels = sum_kernel(self._voters, x[None, :], [self.bandwidth_], None, self._voter_bags, np.array([bag]))[0]
        return self._negatives, -kernels, -self.threshold_
