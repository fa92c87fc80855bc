"""Voters that use *without* segments only: what no negative resembles must be the object."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from segvote.errors import BadInputError
from segvote.kernels import SampledKernel, search_neighbours, sum_kernel
from segvote.voters.base import N_NEIGHBORS, BaseVoter
from segvote.voters.kernel_votes import check_bandwidth, find_typical_distance, measure_relative_error, sum_votes
from segvote.voters.limits import MAX_PAIRS
from segvote.voters.segments import Segments

__all__ = ["NegMin", "NegativeVotes"]

# The bandwidth is the median distance to the negative of this rank.
N_TYPICAL = 10


class NegMin(BaseVoter):
    """Negative mining: the less like any *without* segment, the more object.

    Parameters
    ----------
    reading
        ``"global"``: distance to the one nearest negative (the text of arXiv 1812.06228), which orders segments as
        minus any similarity to it does; ``"bag"``: minus the sum over the *without* bags of the Gaussian similarity to
        the nearest segment of that bag (its eq. 1 as printed).
    bandwidth
        Of the similarity, for ``"bag"``; None: the median distance from a segment to its tenth nearest negative.

    References
    ----------
    Siva, Russell, Xiang: In defence of negative mining for annotating weakly labelled data. ECCV 2012.
    """

    wants_lengths = True

    READINGS = ("global", "bag")

    def __init__(self, reading: str = "global", bandwidth: float | None = None) -> None:
        self.reading = reading
        self.bandwidth = bandwidth

    def _learn(self, segments: Segments) -> np.ndarray:
        if self.reading not in self.READINGS:
            raise BadInputError(f"reading must be one of {', '.join(self.READINGS)}; got {self.reading!r}")
        self._negatives = np.flatnonzero(~segments.positive)
        self._voters, self._voter_bags = segments.X[self._negatives], segments.bags[self._negatives]
        if self.reading == "bag":
            self.bandwidth_ = _choose_bandwidth(self.bandwidth, segments, self._voters, self._voter_bags)
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
            return -sum((one for _, one in self._compare_bags(X, bags)), start=np.zeros(len(X)))
        squared = search_neighbours(X, self._voters, 1, bags, self._voter_bags)[0][:, 0]
        return _fill_missing(np.sqrt(squared))

    def _compare_bags(self, X: np.ndarray, bags: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """For each *without* bag: (n,) its segment nearest to each x, and the similarity to it; 0 in x's own bag."""
        for bag in np.unique(self._voter_bags):
            rows = np.flatnonzero(self._voter_bags == bag)
            squared, found = search_neighbours(X, self._voters[rows], 1)
            similarity = np.exp(-squared[:, 0].astype(np.float64) / (2 * self.bandwidth_**2))
            yield self._negatives[rows[found[:, 0]]], np.where(bags != bag, similarity, 0.0)

    def _list_votes(self, x: np.ndarray, bag: int, prior: float) -> tuple[np.ndarray, np.ndarray, float]:
        if self.reading == "bag":
            voters, amounts = zip(*self._compare_bags(x[None, :], np.array([bag])), strict=True)
            return np.concatenate(voters), -np.concatenate(amounts), -self.threshold_
        squared, index = search_neighbours(x[None, :], self._voters, 1, np.array([bag]), self._voter_bags)
        if index[0, 0] < 0:
            return np.empty(0, dtype=np.int64), np.empty(0), -self.threshold_
        return self._negatives[index[0]], np.sqrt(squared[0]), -self.threshold_


def _choose_bandwidth(given: float | None, segments: Segments, voters: np.ndarray, voter_bags: np.ndarray) -> float:
    if given is not None:
        return check_bandwidth(given)
    return find_typical_distance(segments.X, voters, N_TYPICAL, segments.bags, voter_bags)


def _fill_missing(distances: np.ndarray) -> np.ndarray:
    """A segment of the only *without* bag has no negative in another bag: it is as near to them as can be."""
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

    wants_lengths = True

    def __init__(self, bandwidth: float | None = None, max_pairs: int = MAX_PAIRS) -> None:
        self.bandwidth = bandwidth
        self.max_pairs = max_pairs

    def _learn(self, segments: Segments) -> np.ndarray:
        self._negatives = np.flatnonzero(~segments.positive)
        self._voters, self._voter_bags = segments.X[self._negatives], segments.bags[self._negatives]
        self.bandwidth_ = _choose_bandwidth(self.bandwidth, segments, self._voters, self._voter_bags)
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

    def _score(self, X: np.ndarray, bags: np.ndarray, prior: np.ndarray) -> np.ndarray:
        return -sum_votes(X, self._voters, self.bandwidth_, None, bags, self._voter_bags)

    def _list_votes(self, x: np.ndarray, bag: int, prior: float) -> tuple[np.ndarray, np.ndarray, float]:
        # One column per voter: the sum of one kernel each.
        kernels = sum_kernel(self._voters, x[None, :], [self.bandwidth_], None, self._voter_bags, np.array([bag]))[0]
        return self._negatives, -kernels, -self.threshold_
