"""Distance to a few nearest negatives: what anomaly detectors of today (PatchCore) do with patches."""

from __future__ import annotations

import numpy as np

from segvote.errors import BadInputError
from segvote.kernels import search_neighbours
from segvote.voters.base import BaseVoter
from segvote.voters.segments import Segments

__all__ = ["KNNNegatives"]


class KNNNegatives(BaseVoter):
    """Mean distance to the nearest *without* segments of other bags; with one neighbour it is NegMin.

    Parameters
    ----------
    n_neighbors
        How many of the nearest negatives count.

    References
    ----------
    Roth, Pemula, Zepeda, Schölkopf, Brox, Gehler: Towards total recall in industrial anomaly detection. CVPR 2022.
    """

    wants_lengths = True

    def __init__(self, n_neighbors: int = 5) -> None:
        self.n_neighbors = n_neighbors

    def _learn(self, segments: Segments) -> np.ndarray:
        if self.n_neighbors < 1:
            raise BadInputError(f"n_neighbors must be at least 1; got {self.n_neighbors}")
        self._negatives = np.flatnonzero(~segments.positive)
        self._voters, self._voter_bags = segments.X[self._negatives], segments.bags[self._negatives]
        return self._score(segments.X, segments.bags, segments.prior)

    def _measure_shares(self, X: np.ndarray, bags: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """What each neighbour adds, (n, k), 0 where there is none; and which negatives they are."""
        squared, indices = search_neighbours(X, self._voters, self.n_neighbors, bags, self._voter_bags)
        found = indices >= 0
        distances = np.sqrt(np.where(found, squared, 0.0))
        return distances / np.maximum(found.sum(axis=1, keepdims=True), 1), indices

    def _score(self, X: np.ndarray, bags: np.ndarray, prior: np.ndarray) -> np.ndarray:
        return self._measure_shares(X, bags)[0].sum(axis=1)

    def _list_votes(self, x: np.ndarray, bag: int, prior: float) -> tuple[np.ndarray, np.ndarray, float]:
        shares, indices = self._measure_shares(x[None, :], np.array([bag]))
        found = indices[0] >= 0
        return self._negatives[indices[0][found]], shares[0][found], -self.threshold_
