"""One-class SVM on the negatives: what does not belong to the background is the object."""

from __future__ import annotations

import numpy as np
from sklearn.svm import OneClassSVM

from segvote.voters.mil.learning_bags import sort_bags, spread_out
from segvote.voters.mil.prototypes import Prototypes, PrototypeVoter
from segvote.voters.segments import Segments
from segvote.voters.standard import learn_standard


class OneClass(PrototypeVoter):
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
        kept, amounts = model.support_, -model.dual_coef_[0]
        rows = sample.rows[chosen[kept]]
        self._prototypes = Prototypes(points[kept], amounts, rows, self.gamma_, float(model.offset_[0]))
        return self._score(segments.X, segments.bags, segments.prior)
