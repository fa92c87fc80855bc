"""CRANE: every *without* segment penalises the *with* segment nearest to it, and those as near."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from sklearn.utils import gen_batches

from segvote.errors import BadInputError
from segvote.numerics import search_neighbours
from segvote.voters.base import BaseVoter, Segments, Votes
from segvote.voters.kernel_votes import check_pairs

QUERIES_PER_BLOCK = 1024
# Error of a squared distance from a float32 product, as a fraction of the squared norms.
PRODUCT_ERROR = 2e-6
# Segments as near as the nearest *with* segment are penalised too: the same pair measured twice may differ by this.
SAME_DISTANCE = 1e-9
# Candidates for the nearest *with* segment whose distance is measured in double precision.
N_MEASURED = 4
# A squared radius that holds no point.
EMPTY = -1.0


@dataclass(eq=False, repr=False)
class CRANE(BaseVoter):
    """Concept ranking according to negative exemplars (Tang 2013), by its printed rule.

    The score is minus the number of *without* segments whose nearest *with* segment of another bag this is; where
    several are nearest, each of them is penalised (eq. 3 of arXiv 1812.06228). A third of all segments tie at 0;
    `tie_fraction_` is the fraction of *with* segments without any penalty.
    """

    wants_lengths = True
    TIES = ("distance", "none")

    # A *without* segment farther than this from its nearest *with* segment penalises no segment; None: no cut-off.
    s_cut: float | None = None
    # "none": the count alone, as printed; "distance", ours: equal counts are ordered by the distance to the nearest
    # negative, which never outweighs one penalty.
    ties: str = "none"

    def _learn(self, segments: Segments) -> None:
        if self.ties not in self.TIES:
            raise BadInputError(f"ties must be one of {', '.join(self.TIES)}; got {self.ties!r}")
        positives, self._negatives = np.flatnonzero(segments.positive), np.flatnonzero(~segments.positive)
        check_pairs("CRANE", len(segments), len(self._negatives))
        squared = _measure_nearest(segments, self._negatives, positives)
        if self.s_cut is not None:
            squared[squared > self.s_cut**2] = EMPTY
        self._voters, self._voter_bags, self._radii = (
            segments.X[self._negatives],
            segments.bags[self._negatives],
            squared * (1 + SAME_DISTANCE),
        )

    def _score_training(self, segments: Segments) -> np.ndarray:
        penalties = self._count_penalties(segments.X, segments.bags)
        self.tie_fraction_ = float((penalties[segments.positive] == 0).mean())
        return self._break_ties(penalties, segments.X, segments.bags)

    def _count_penalties(self, X: np.ndarray, bags: np.ndarray) -> np.ndarray:
        """How many negatives are as near to x as to their nearest *with* segment of the training set, or nearer."""
        blocks = gen_batches(len(X), QUERIES_PER_BLOCK)
        return np.concatenate([self._list_penalties(X[rows], bags[rows]).sum(axis=1) for rows in blocks])

    def _list_penalties(self, X: np.ndarray, bags: np.ndarray) -> np.ndarray:
        """(n, n_negatives) bool: the negative penalises x."""
        return find_inside(X, self._voters, self._radii) & (bags[:, None] != self._voter_bags)

    def _break_ties(self, penalties: np.ndarray, X: np.ndarray, bags: np.ndarray) -> np.ndarray:
        if self.ties == "none":
            return -penalties
        squared = search_neighbours(X, self._voters, 1, bags, self._voter_bags).squared[:, 0]
        distance = np.sqrt(np.where(np.isfinite(squared), squared, 0.0))
        return distance / (1 + distance) - penalties

    def _score(self, X: np.ndarray, bags: np.ndarray, prior: np.ndarray) -> np.ndarray:
        return self._break_ties(self._count_penalties(X, bags), X, bags)

    def _list_votes(self, x: np.ndarray, bag: int, prior: float) -> Votes:
        bags = np.array([bag])
        penalties = np.flatnonzero(self._list_penalties(x[None, :], bags)[0])
        tie_break = self._break_ties(np.zeros(1), x[None, :], bags)[0]
        return self._negatives[penalties], -np.ones(len(penalties)), float(tie_break - self.threshold_)


def _measure_nearest(segments: Segments, negatives: np.ndarray, positives: np.ndarray) -> np.ndarray:
    """(n_negatives,) squared distance to the nearest *with* segment of another bag; `EMPTY` where there is none.

    The search is in single precision: of its first few the nearest is measured again.
    """
    X, bags = segments.X, segments.bags
    n_first = min(N_MEASURED, len(positives))
    candidates = search_neighbours(X[negatives], X[positives], n_first, bags[negatives], bags[positives]).indices
    nearest = np.full(len(negatives), np.inf)
    for column in candidates.T:
        known = np.flatnonzero(column >= 0)
        squared = _sum_squares(X[negatives[known]].astype(np.float64) - X[positives[column[known]]])
        nearest[known] = np.minimum(nearest[known], squared)
    return np.where(np.isfinite(nearest), nearest, EMPTY)


def find_inside(X: np.ndarray, centres: np.ndarray, squared_radii: np.ndarray) -> np.ndarray:
    """(n, n_balls) bool: x lies in the ball, its rim included; pairs too close for a float32 product are measured."""
    origin = centres.mean(axis=0, dtype=np.float64)
    points, centres = X.astype(np.float64) - origin, centres.astype(np.float64) - origin
    norms, centre_norms = _sum_squares(points), _sum_squares(centres)
    # |x|^2 - 2 x.c + |c|^2 - r^2, below 0 inside.
    excess = -2 * (points.astype(np.float32) @ np.ascontiguousarray(centres.T, dtype=np.float32))
    excess += norms[:, None].astype(np.float32)
    excess += (centre_norms - squared_radii).astype(np.float32)
    scale = norms.max(initial=0.0) + centre_norms.max(initial=0.0)
    rows, columns = np.nonzero(np.abs(excess) <= PRODUCT_ERROR * scale)
    inside = excess < 0
    inside[rows, columns] = _sum_squares(points[rows] - centres[columns]) <= squared_radii[columns]
    return inside


def _sum_squares(X: np.ndarray) -> np.ndarray:
    return np.einsum("ij,ij->i", X, X)
