"""Voters that use *without* segments only: nearest negatives, negative mining, sums of votes against."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from segvote.errors import BadInputError
from segvote.numerics import search_neighbours
from segvote.voters.base import BaseVoter, Segments, Votes
from segvote.voters.kernel_votes import KernelVoter, average_kernels, check_pairs, choose_bandwidth


class _NearestNegatives(BaseVoter):
    """Mean distance to the `n_neighbors` nearest *without* segments of other bags."""

    wants_lengths = True
    n_neighbors: int

    def _learn(self, segments: Segments) -> None:
        if self.n_neighbors < 1:
            raise BadInputError(f"n_neighbors must be at least 1; got {self.n_neighbors}")
        self._negatives = np.flatnonzero(~segments.positive)
        self._voters, self._voter_bags = segments.X[self._negatives], segments.bags[self._negatives]

    def _measure_shares(self, X: np.ndarray, bags: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(n, k) contribution of each neighbour, 0 where there is none, and its number among the negatives, or -1."""
        nearest = search_neighbours(X, self._voters, self.n_neighbors, bags, self._voter_bags)
        is_found = nearest.indices >= 0
        distances = np.sqrt(np.where(is_found, nearest.squared, 0.0))
        return distances / np.maximum(is_found.sum(axis=1, keepdims=True), 1), nearest.indices

    def _score(self, X: np.ndarray, bags: np.ndarray, prior: np.ndarray) -> np.ndarray:
        return self._measure_shares(X, bags)[0].sum(axis=1)

    def _list_votes(self, x: np.ndarray, bag: int, prior: float) -> Votes:
        shares, indices = self._measure_shares(x[None, :], np.array([bag]))
        is_neighbour = indices[0] >= 0
        return self._negatives[indices[0][is_neighbour]], shares[0][is_neighbour], -self.threshold_


@dataclass(eq=False, repr=False)
class KNNNegatives(_NearestNegatives):
    """Mean distance to the nearest *without* segments, as in PatchCore (Roth 2022); with one neighbour it is NegMin."""

    n_neighbors: int = 5  # how many of the nearest negatives count


@dataclass(eq=False, repr=False)
class NegMin(_NearestNegatives):
    """Negative mining (Siva, Russell, Xiang 2012): the less like any *without* segment, the more object.

    The reading "global" is the distance to the one nearest negative (the text of arXiv 1812.06228), which orders
    segments as minus any similarity to it does. "bag" is minus the sum over the *without* bags of the Gaussian
    similarity to the nearest segment of that bag (its eq. 1 as printed).
    """

    READINGS = ("global", "bag")
    n_neighbors = 1

    reading: str = "global"
    bandwidth: float | None = None  # of the similarity, for "bag"; None: see `choose_bandwidth`, over the negatives

    def _learn(self, segments: Segments) -> None:
        if self.reading not in self.READINGS:
            raise BadInputError(f"reading must be one of {', '.join(self.READINGS)}; got {self.reading!r}")
        super()._learn(segments)
        if self.reading == "bag":
            self.bandwidth_ = choose_bandwidth(
                self.bandwidth, segments.X, self._voters, segments.bags, self._voter_bags
            )

    def _score(self, X: np.ndarray, bags: np.ndarray, prior: np.ndarray) -> np.ndarray:
        if self.reading == "global":
            return super()._score(X, bags, prior)
        return -sum((one for _, one in self._compare_bags(X, bags)), start=np.zeros(len(X)))

    def _compare_bags(self, X: np.ndarray, bags: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """For each *without* bag: (n,) its segment nearest to each x, and the similarity to it; 0 in x's own bag."""
        for bag in np.unique(self._voter_bags):
            rows = np.flatnonzero(self._voter_bags == bag)
            nearest = search_neighbours(X, self._voters[rows], 1)
            similarity = np.exp(-nearest.squared[:, 0] / (2 * self.bandwidth_**2))
            yield self._negatives[rows[nearest.indices[:, 0]]], np.where(bags != bag, similarity, 0.0)

    def _list_votes(self, x: np.ndarray, bag: int, prior: float) -> Votes:
        if self.reading == "global":
            return super()._list_votes(x, bag, prior)
        voters, amounts = zip(*self._compare_bags(x[None, :], np.array([bag])), strict=True)
        return np.concatenate(voters), -np.concatenate(amounts), -self.threshold_


@dataclass(eq=False, repr=False)
class NegativeVotes(KernelVoter):
    """Votes against, summed over all *without* segments: ``f_neg(x) = -sum_n k(x, n)`` (eq. 8)."""

    wants_lengths = True

    bandwidth: float | None = None  # of the Gaussian kernel; None: see `choose_bandwidth`, over the negatives

    def _learn(self, segments: Segments) -> None:
        X, bags, negatives = segments.X, segments.bags, np.flatnonzero(~segments.positive)
        check_pairs("a sum over all negatives", len(X), len(negatives))
        self._choose_voters(segments, negatives)
        self.bandwidth_ = choose_bandwidth(self.bandwidth, X, self._voters, bags, self._voter_bags)
        self._amounts = -self._weigh_negatives(segments)

    def _weigh_negatives(self, segments: Segments) -> np.ndarray:
        """(n_negatives,) weight of the vote of each negative."""
        return np.ones(len(self._voters))


@dataclass(eq=False, repr=False)
class WeightedNegatives(NegativeVotes):
    """Negative-weighted voting, our reading: ``f(x) = -sum_n v_n^power k(x, n)``.

    arXiv 1812.06228 names the system (Wang 2018) as the one whose reduced version is f_neg (eq. 8), without a formula:
    votes of all negatives, weighted. Here ``v_n = B_n / (A_n + B_n)`` is the share of negatives among the votes for n
    itself, A_n and B_n the mean kernels of the *with* and of the other *without* segments of other bags. A negative
    among *with* segments, by a wrong bag label or because the background is shared, has little weight.
    `negative_weights_` (n_negatives,) is v, in the order of the training segments.
    """

    power: float = 1.0  # of the weights; 0 makes all of them 1, which is f_neg

    def _weigh_negatives(self, segments: Segments) -> np.ndarray:
        if self.power < 0:
            raise BadInputError(f"power must be 0 or above; got {self.power}")
        rows, sides = np.flatnonzero(~segments.positive), (segments.positive, ~segments.positive)
        votes_for, against = (average_kernels(segments, rows, side, (self.bandwidth_,))[0] for side in sides)
        total = votes_for + against
        # Without votes there is no evidence that a negative is not background.
        self.negative_weights_ = np.divide(against, total, out=np.ones(len(total)), where=total > 0)
        return self.negative_weights_**self.power
