"""CRANE: every *without* segment penalises the one *with* segment nearest to it."""

from __future__ import annotations

import numpy as np
from scipy.spatial.distance import cdist

from segvote.kernels import search_neighbours
from segvote.voting.base import BaseVoter
from segvote.voting.segments import Segments

__all__ = ["CRANE"]

QUERIES_PER_BLOCK = 1024


class CRANE(BaseVoter):
    """Concept ranking according to negative exemplars.

    The score is minus the number of *without* segments whose nearest *with* segment this is. A third of all segments tie at
    0, so ties are broken by the distance to the nearest negative, which never outweighs one penalty.

    Attributes
    ----------
    tie_fraction_
        Fraction of *with* segments without any penalty.

    References
    ----------
    Tang, Sukthankar, Yagnik, Fei-Fei: Discriminative segment annotation in weakly labeled video. CVPR 2013.
    """

    def _learn(self, segments: Segments) -> np.ndarray:
        positives, self._negatives = np.flatnonzero(segments.positive), np.flatnonzero(~segments.positive)
        self._voters, self._voter_bags = segments.X[self._negatives], segments.bags[self._negatives]
        squared, nearest = search_neighbours(self._voters, segments.X[positives], 1)
        self._reach = squared[:, 0]
        penalties = np.zeros(len(segments))
        np.add.at(penalties, positives[nearest[:, 0]], 1.0)
        # A negative has no rank among positives: it counts whom it would have drawn away, as a new segment does.
        penalties[self._negatives] = self._count_penalties(self._voters, self._voter_bags)
        self.tie_fraction_ = float((penalties[positives] == 0).mean())
        return self._break_ties(penalties, segments.X, segments.bags)

    def _count_penalties(self, X: np.ndarray, bags: np.ndarray) -> np.ndarray:
        """How many negatives are nearer to x than to any *with* segment of the training set."""
        counts = np.empty(len(X))
        for start in range(0, len(X), QUERIES_PER_BLOCK):
            rows = slice(start, start + QUERIES_PER_BLOCK)
            counts[rows] = self._list_drawn(X[rows], bags[rows]).sum(axis=1)
        return counts

    def _list_drawn(self, X: np.ndarray, bags: np.ndarray) -> np.ndarray:
        drawn = cdist(X, self._voters, "sqeuclidean") <= self._reach * (1 + 1e-6)
        return drawn & (bags[:, None] != self._voter_bags)

    def _break_ties(self, penalties: np.ndarray, X: np.ndarray, bags: np.ndarray) -> np.ndarray:
        squared = search_neighbours(X, self._voters, 1, bags, self._voter_bags)[0][:, 0]
        distance = np.sqrt(np.where(np.isfinite(squared), squared, 0.0))
        return distance / (1 + distance) - penalties

    def _score(self, X: np.ndarray, bags: np.ndarray, survival: np.ndarray) -> np.ndarray:
        return self._break_ties(self._count_penalties(X, bags), X, bags)

    def _list_votes(self, x: np.ndarray, bag: int, survival: float) -> tuple[np.ndarray, np.ndarray, float]:
        bags = np.array([bag])
        drawn = np.flatnonzero(self._list_drawn(x[None, :], bags)[0])
        tie_break = self._break_ties(np.zeros(1), x[None, :], bags)[0]
        return self._negatives[drawn], -np.ones(len(drawn)), float(tie_break - self.threshold_)
