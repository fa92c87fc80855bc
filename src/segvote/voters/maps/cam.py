"""CAM: today's habit, an image classifier read per segment."""

from __future__ import annotations

import numpy as np
from sklearn.linear_model import LogisticRegression

from segvote.voters.mil.learning_bags import Bags, BagVoter
from segvote.voters.standard import learn_standard


class CAM(BagVoter):
    """Class activation: a logistic regression on the mean features of bags, its linear map read at every segment.

    The mean of its votes over the segments of a bag is the bag's logit, because the map and the mean are both linear.

    Parameters
    ----------
    C
        Inverse strength of the regularisation, on standardised features.

    Attributes
    ----------
    coef_, intercept_
        (d,) and float: the linear map, for features as they come.

    References
    ----------
    Zhou, Khosla, Lapedriza, Oliva, Torralba: Learning deep features for discriminative localization. CVPR 2016.
    """

    wants_lengths = True

    def __init__(self, C: float = 1.0) -> None:
        self.C = C

    def _fit_bags(self, bags: Bags) -> None:
        means = bags.mean(bags.X)
        standard = learn_standard(means)
        model = LogisticRegression(C=self.C, class_weight="balanced", max_iter=10_000)
        model.fit(standard.apply(means), bags.labels)
        self.coef_ = model.coef_[0] / standard.spread
        self.intercept_ = float(model.intercept_[0] - self.coef_ @ standard.centre)
        self.n_iter_ = max(int(model.n_iter_[0]), 1)

    def _score(self, X: np.ndarray, bags: np.ndarray, prior: np.ndarray) -> np.ndarray:
        # A sum over columns, not a product: a row's rounding then does not depend on how many rows there are.
        return np.einsum("ij,j->i", X.astype(np.float64), self.coef_) + self.intercept_

    def _score_bags(self, bags: Bags) -> np.ndarray:
        return bags.mean(self._score(bags.X, bags.codes, np.ones(len(bags.X))))
