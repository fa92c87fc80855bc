"""The walk on features fitted to the bag labels first: "fine-tuning" where there is no network to train."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy import sparse

from segvote.errors import BadInputError
from segvote.method.graph import N_NEIGHBORS, stretch
from segvote.voters.maps.cam import CAM
from segvote.voters.segments import Segments
from segvote.voters.walk import Walk


class AdaptedWalk(Walk):
    """`Walk` on features that are stretched along the direction which tells the bags apart.

    The direction is that of a logistic regression on the mean features of bags (`CAM`): what a step of training the
    last linear layer of a network with its head on image labels changes.

    Parameters
    ----------
    gain
        How far features are stretched; 1 is `Walk`.
    n_neighbors, n_steps, balance
        As for `Walk`.

    Attributes
    ----------
    direction_
        (d,) of length one.
    """

    def __init__(
        self, gain: float = 8.0, n_neighbors: int = N_NEIGHBORS, n_steps: int = 60, balance: float = 0.0
    ) -> None:
        super().__init__(n_neighbors, n_steps, balance)
        self.gain = gain

    @property
    def n_searched(self) -> int:
        return 0  # neighbours of the features as they came are not these

    def _learn(self, segments: Segments) -> np.ndarray:
        if not self.gain > 0:
            raise BadInputError(f"gain must be above 0; got {self.gain}")
        classifier = CAM()
        classifier._learn(segments)
        length = float(np.linalg.norm(classifier.coef_))
        self.direction_ = classifier.coef_ / length if length > 0 else classifier.coef_
        return super()._learn(replace(segments, X=self._adapt(segments.X)))

    def _build_graph(self, X: np.ndarray, bags: np.ndarray) -> sparse.csr_matrix:
        return super()._build_graph(self._adapt(X), bags)

    def _adapt(self, X: np.ndarray) -> np.ndarray:
        return stretch(X, self.direction_, self.gain)
