"""Linear classifiers of bags, read at every segment: CAM on the mean of all segments, OBoW on that of selected ones.

We have not seen the formulation of OBoW (Wang et al. 2017); this is our reading of its title and of the description in
the eKDE paper.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

from segvote.voters.bags import Bags, BagVoter, Standard, split_bags


class _LinearVoter(BagVoter):
    """``f(x) = coef_ . x + intercept_``."""

    wants_lengths = True

    def _keep(self, model: LogisticRegression | LinearSVC, standard: Standard) -> None:
        """Keep a model of standardised features as a map of features as they come."""
        self.coef_ = model.coef_[0] / standard.spread
        self.intercept_ = float(model.intercept_[0] - self.coef_ @ standard.centre)

    def _score(self, X: np.ndarray, bags: np.ndarray, prior: np.ndarray) -> np.ndarray:
        # A sum over columns, not a product: a row's rounding then does not depend on how many rows there are.
        return np.einsum("ij,j->i", X.astype(np.float64), self.coef_) + self.intercept_


@dataclass(eq=False, repr=False)
class CAM(_LinearVoter):
    """Class activation (Zhou 2016): a logistic regression on the mean features of bags, read at every segment.

    The mean of its votes over the segments of a bag is the bag's logit, because the map and the mean are both linear.
    """

    C: float = 1.0  # inverse strength of the regularisation, on standardised features

    def _fit_bags(self, bags: Bags) -> None:
        means = bags.mean(bags.X)
        standard = Standard.learn(means)
        model = LogisticRegression(C=self.C, class_weight="balanced", max_iter=10_000)
        model.fit(standard.apply(means), bags.labels)
        self._keep(model, standard)
        self.n_iter_ = max(int(model.n_iter_[0]), 1)

    def _score_bags(self, bags: Bags) -> np.ndarray:
        return bags.mean(self._score_rows(bags))


@dataclass(eq=False, repr=False)
class OBoW(_LinearVoter):
    """Optimal bag of words, our reading: a linear SVM on the means of selected segments, which it selects again.

    Every segment of a *without* bag is always selected; of a *with* bag those with ``v.h + b > 0``, or else its best
    one. The last selection is `selected_`, in the order of the sorted bags.
    """

    zero = 0.0  # v.h + b > 0 is the rule of selection

    C: float = 1.0  # inverse strength of the SVM's regularisation, on standardised features
    max_iter: int = 50  # rounds at most; a selection that comes back ends it sooner

    def _fit_bags(self, bags: Bags) -> None:
        standard = Standard.learn(bags.X)
        selected = np.ones(len(bags.X), dtype=bool)
        seen: set[bytes] = set()
        self.n_iter_ = 0
        while self.n_iter_ < self.max_iter and selected.tobytes() not in seen:
            seen.add(selected.tobytes())
            total = bags.sum(standard.apply(bags.X) * selected[:, None])
            means = total / bags.sum(selected.astype(np.float64))[:, None]
            model = LinearSVC(C=self.C, dual=False, class_weight="balanced", max_iter=10_000)
            self._keep(model.fit(means, bags.labels), standard)
            votes = self._score_rows(bags)
            selected = ~bags.positive | (votes > 0)
            selected[bags.find_best(votes)] = True
            self.n_iter_ += 1
        self.selected_ = selected

    def _find_bag_threshold(self, bags: Bags) -> float:
        # The best segment of a *without* bag may well be above 0: its mean was trained to be below.
        return split_bags(self._score_bags(bags), bags.labels)
