"""One-class SVM on the negatives: what does not belong to the background is the object."""

from __future__ import annotations

import numpy as np
from scipy.spatial.distance import cdist
from sklearn.svm import OneClassSVM

from segvote.voters.base import BaseVoter
from segvote.voters.mil.learning_bags import sort_bags, spread_out
from segvote.voters.segments import Segments
from segvote.voters.standard import learn_standard

__all__ = ["OneClass"]

QUERIES_PER_BLOCK = 1024


class OneClass(BaseVoter):
    """One-class SVM with a Gaussian kernel on *without* segments; the score is its decision turned round.

    Its solver is quadratic in the number of negatives, so that an evenly spaced sample of them stands for all when
    there are more than `max_negatives`.

    Parameters
    ----------
    nu
        Share of the negatives that may lie outside.
    gamma
        Of the kernel ``exp(-gamma |x - n|^2)`` on standardised features; None: one over the number of features.
    max_negatives
        How many negatives learn at most.

    References
    ----------
    Named by arXiv 1812.06228 as Jiang 2015; by its subject that is arXiv 1501.07492, Weakly supervised learning for
    salient object detection. One-class SVM: Schölkopf et al., Neural Computation 2001.
    """

    wants_lengths = True

    def __init__(self, nu: float = 0.1, gamma: float | None = None, max_negatives: int = 5000) -> None:
        self.nu = nu
        self.gamma = gamma
        self.max_negatives = max_negatives

    def _learn(self, segments: Segments) -> np.ndarray:
        negative = np.where(segments.positive, -1, 0)
        sample = sort_bags(segments.X, negative, ~segments.positive)
        chosen = spread_out(len(sample.X), self.max_negatives)
        self._standard = learn_standard(sample.X)
        points = self._standard.apply(sample.X[chosen])
        self.gamma_ = 1 / points.shape[1] if self.gamma is None else self.gamma
        model = OneClassSVM(nu=self.nu, gamma=self.gamma_).fit(points)
        self._voters, self._voter_rows = points[model.support_], sample.rows[chosen[model.support_]]
        self._amounts, self._offset = -model.dual_coef_[0], float(model.offset_[0])
        return self._score(segments.X, segments.bags, segments.prior)

    def _measure(self, X: np.ndarray) -> np.ndarray:
        return np.exp(-self.gamma_ * cdist(self._standard.apply(X), self._voters, "sqeuclidean"))

    def _score(self, X: np.ndarray, bags: np.ndarray, prior: np.ndarray) -> np.ndarray:
        blocks = [X[start : start + QUERIES_PER_BLOCK] for start in range(0, len(X), QUERIES_PER_BLOCK)]
        votes = [np.einsum("ij,j->i", self._measure(block), self._amounts) for block in blocks]
        return np.concatenate(votes) + self._offset

    def _list_votes(self, x: np.ndarray, bag: int, prior: float) -> tuple[np.ndarray, np.ndarray, float]:
        amounts = self._measure(x[None, :])[0] * self._amounts
        return self._voter_rows, amounts, self._offset - self.threshold_
