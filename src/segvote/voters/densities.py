"""Kernel densities of the two kinds of bags: their difference (SKDE), and diverse density at the segments (evidence).

SKDE is ``f(x) = mean_P k(x, p) - mean_N k(x, n)``. Supervised mean shift climbs it: *with* segments draw, *without*
segments push, ``x <- x + sum_i a_i k_i (x_i - x) / sum_i |a_i| k_i`` with a = 1/|P| or -1/|N|, halved until f does not
fall. Evidence confidence, our reading, is ``log DD(x) = sum_with log(1 - prod_j (1 - k(x, x_ij))) + sum_without sum_j
log(1 - k(x, x_ij))``: quadratic in the number of segments, without local maxima, and several concepts may hold at once.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from sklearn.utils import gen_batches

from segvote.numerics import sum_kernel
from segvote.voters.bags import group_bags, sort_bags
from segvote.voters.base import BaseVoter, Segments, Votes
from segvote.voters.kernel_votes import KernelVoter, check_pairs, choose_bandwidth

# Points nearer than this part of the bandwidth have climbed the same hill.
SAME_MODE = 0.5
SMALLEST_STEP = 1e-3
TINY = np.finfo(float).tiny
QUERIES_PER_BLOCK = 256
# Probability of a wrong bag label, so that the logarithm stays finite for a *with* bag in which nothing is near.
MISFILED = 1e-3
# A segment equal to a negative is background to this precision.
LARGEST_KERNEL = 1 - 1e-6


@dataclass(eq=False, repr=False)
class SKDE(KernelVoter):
    """Supervised kernel density estimation with supervised mean shift, our reading.

    The paper describes a density p(x) estimated from labelled samples; here the score is the difference of the
    densities of the two classes, because folders label segments on one side only. `modes_` (m, d) are the local maxima
    of f that were found, the highest first, and `mode_scores_` (m,) is f there.
    """

    wants_lengths = True

    bandwidth: float | None = None  # of the Gaussian kernel; None: see `choose_bandwidth`, over all segments
    n_starts: int = 50  # how many of the best *with* segments climb
    max_iter: int = 100  # steps of the climb at most

    def _learn(self, segments: Segments) -> None:
        check_pairs("SKDE", len(segments), len(segments))
        X, bags, positive = segments.X, segments.bags, segments.positive
        self.bandwidth_ = choose_bandwidth(self.bandwidth, X, X, bags, bags)
        self._choose_voters(segments, np.arange(len(X)))
        self._amounts = np.where(positive, 1 / max(positive.sum(), 1), -1 / max((~positive).sum(), 1))

    def _score_training(self, segments: Segments) -> np.ndarray:
        votes = super()._score_training(segments)
        # Sorted, so that the order of segments does not decide which of equals climb.
        candidates = sort_bags(segments.X, np.where(segments.positive, 0, -1), segments.positive)
        best = np.argsort(-votes[candidates.rows], kind="stable")[: self.n_starts]
        points, self.n_iter_ = shift_to_modes(
            candidates.X[best], self._voters, self._amounts, self.bandwidth_, self.max_iter
        )
        heights = sum_kernel(points, self._voters, [self.bandwidth_], self._amounts)[0]
        self.modes_, self.mode_scores_ = _merge(points, heights, SAME_MODE * self.bandwidth_)
        return votes


def shift_to_modes(
    starts: np.ndarray, voters: np.ndarray, amounts: np.ndarray, bandwidth: float, max_iter: int = 100
) -> tuple[np.ndarray, int]:
    """(n_starts, d) where climbs of ``f(x) = sum_i a_i k(x, x_i)`` by mean shift end, and how many steps were taken."""
    points, voters = starts.astype(np.float64), voters.astype(np.float64)
    heights, moves = measure_shift(points, voters, amounts, bandwidth)
    lengths, n_iter = np.ones(len(points)), 0
    while n_iter < max_iter:
        shifts = lengths[:, None] * moves
        active = np.flatnonzero(np.linalg.norm(shifts, axis=1) > SMALLEST_STEP * bandwidth)
        if len(active) == 0:
            break
        proposed = points[active] + shifts[active]
        reached, next_moves = measure_shift(proposed, voters, amounts, bandwidth)
        better = reached >= heights[active]
        risen = active[better]
        points[risen], heights[risen], moves[risen] = proposed[better], reached[better], next_moves[better]
        lengths[active] = np.where(better, 1.0, lengths[active] / 2)
        n_iter += 1
    return points, max(n_iter, 1)


def measure_shift(
    points: np.ndarray, voters: np.ndarray, amounts: np.ndarray, bandwidth: float
) -> tuple[np.ndarray, np.ndarray]:
    """f at the points, (n,), and the mean shift there, (n, d)."""
    # |x - v|^2 by a product: sums of squared differences take ten times as long.
    half = points @ voters.T - 0.5 * (_sum_squares(voters) + _sum_squares(points)[:, None])
    kernels = np.exp(np.minimum(half, 0.0) / bandwidth**2)
    heights = kernels @ amounts
    pull = (kernels * amounts) @ voters - heights[:, None] * points
    return heights, pull / np.maximum(kernels @ np.abs(amounts), TINY)[:, None]


def _merge(points: np.ndarray, heights: np.ndarray, radius: float) -> tuple[np.ndarray, np.ndarray]:
    """Keep the highest of the points within `radius` of each other, highest first."""
    kept: list[int] = []
    for index in np.argsort(-heights, kind="stable"):
        if all(np.linalg.norm(points[index] - points[other]) > radius for other in kept):
            kept.append(int(index))
    return points[kept], heights[kept]


@dataclass(eq=False, repr=False)
class Evidence(BaseVoter):
    """Evidence confidence, our reading of the name: diverse density (Maron 1997) at the segments themselves.

    The sum over the bags of each label is multiplied by all bags over those counted, because a segment's own bag is not
    counted.
    """

    wants_lengths = True

    bandwidth: float | None = None  # of the Gaussian kernel; None: see `choose_bandwidth`, over all segments

    def _learn(self, segments: Segments) -> None:
        X, bags = segments.X, segments.bags
        self.bandwidth_ = choose_bandwidth(self.bandwidth, X, X, bags, bags)
        self._groups = group_bags(segments)
        self._group_bags = bags[self._groups.rows[self._groups.starts]]

    def _score(self, X: np.ndarray, bags: np.ndarray, prior: np.ndarray) -> np.ndarray:
        check_pairs("evidence confidence", len(X), len(self._groups.X))
        blocks = gen_batches(len(X), QUERIES_PER_BLOCK)
        return np.concatenate([self._list_bag_votes(X[rows], bags[rows]).sum(axis=1) for rows in blocks])

    def _list_bag_votes(self, X: np.ndarray, bags: np.ndarray) -> np.ndarray:
        """(n, n_bags) contributions of the bags to log DD; 0 for the own bag."""
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
        """(n, n_voters) kernels, in double precision: the logarithm near 1 would show how many rows are scored."""
        queries, voters = X.astype(np.float64), self._groups.X.astype(np.float64)
        squared = (queries**2).sum(axis=1)[:, None] + (voters**2).sum(axis=1) - 2 * queries @ voters.T
        return np.minimum(np.exp(-np.maximum(squared, 0.0) / (2 * self.bandwidth_**2)), LARGEST_KERNEL)

    def _list_votes(self, x: np.ndarray, bag: int, prior: float) -> Votes:
        # The vote of a bag is shown at its most similar segment.
        amounts = self._list_bag_votes(x[None, :], np.array([bag]))[0]
        nearest = self._groups.find_best(self._measure(x[None, :])[0])
        counted = self._group_bags != bag
        return self._groups.rows[nearest[counted]], amounts[counted], -self.threshold_


def _sum_squares(X: np.ndarray) -> np.ndarray:
    return np.einsum("ij,ij->i", X, X)
