"""MILES and MILIS: bags become vectors of their nearness to training segments, and a linear SVM weighs those segments.

A segment is scored as a bag of one, ``f(x) = sum_k w_k k(x, t_k) + b``: every prototype t_k is a training segment that
votes.
"""

from __future__ import annotations

import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import LinearSVC

from segvote.voters.bags import Bags, BagVoter, spread_out
from segvote.voters.kernel_votes import choose_bandwidth, sum_votes
from segvote.voters.prototypes import Prototypes, PrototypeVoter, check_embedding, embed_bags

# Segments of which the typical distance is taken; of more, an evenly spaced sample.
MAX_TYPICAL = 2000
# Negatives whose density the first prototypes are chosen by; of more, an evenly spaced sample.
MAX_NEGATIVES = 10_000


class _EmbeddedBags(PrototypeVoter, BagVoter):
    """A linear SVM on bags as prototypes see them; the subclass chooses the prototypes."""

    C: float
    bandwidth: float | None

    def _choose_bandwidth(self, bags: Bags) -> float:
        return choose_bandwidth(self.bandwidth, bags.X[spread_out(len(bags.X), MAX_TYPICAL)], bags.X)

    def _keep(self, bags: Bags, rows: np.ndarray, model: LinearSVC) -> None:
        """Keep the prototypes that have a weight."""
        used = np.flatnonzero(model.coef_[0])
        self.prototypes_, self.prototype_weights_ = bags.X[rows[used]], model.coef_[0][used]
        self.intercept_ = float(model.intercept_[0])
        self._prototypes = Prototypes(
            self.prototypes_, self.prototype_weights_, bags.rows[rows[used]], 0.5 / self.bandwidth_**2, self.intercept_
        )

    def _score_bags(self, bags: Bags) -> np.ndarray:
        return embed_bags(bags, self.prototypes_, self.bandwidth_) @ self.prototype_weights_ + self.intercept_


class MILES(_EmbeddedBags):
    """Multiple-instance learning via embedded instance selection: a sparse (1-norm) SVM picks the segments that matter.

    The loss is the squared hinge, which scikit-learn's solver offers with the 1-norm.

    Parameters
    ----------
    C
        Inverse strength of the 1-norm.
    bandwidth
        Of the Gaussian kernel; None: the median distance from a segment to its ten nearest.
    max_prototypes
        How many segments are offered to the SVM; of more, an evenly spaced sample.

    Attributes
    ----------
    prototypes_, prototype_weights_
        (m, d), (m,): the segments the SVM kept and their weights.

    References
    ----------
    Chen, Bi, Wang: MILES, multiple-instance learning via embedded instance selection. PAMI 2006.
    """

    def __init__(self, C: float = 1.0, bandwidth: float | None = None, max_prototypes: int = 2000) -> None:
        self.C = C
        self.bandwidth = bandwidth
        self.max_prototypes = max_prototypes

    def _fit_bags(self, bags: Bags) -> None:
        rows = spread_out(len(bags.X), self.max_prototypes)
        check_embedding(len(bags), len(rows), "Set max_prototypes lower, or use voter milis or cam")
        self.bandwidth_ = self._choose_bandwidth(bags)
        table = embed_bags(bags, bags.X[rows], self.bandwidth_)
        self._keep(bags, rows, _fit_sparse(table, bags.labels, self.C))


def _fit_sparse(table: np.ndarray, labels: np.ndarray, C: float) -> LinearSVC:
    model = LinearSVC(penalty="l1", dual=False, C=C, class_weight="balanced", max_iter=2000, random_state=0)
    with warnings.catch_warnings():
        # Its last digits converge slowly where prototypes are near each other; they do not change who is kept.
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(table, labels)


class MILIS(_EmbeddedBags):
    """Multiple-instance learning with instance selection: one prototype per bag, chosen again as the classifier learns.

    The first prototype of a *without* bag is its most typical segment, by the density of the negatives, that of a
    *with* bag its least typical one. In turns, an SVM on the bags is trained and every prototype is replaced by the
    segment of its bag with the highest score for the bag's label, as long as the SVM's objective falls: our reading of
    the update.

    Parameters
    ----------
    C
        Inverse strength of the SVM's regularisation.
    bandwidth
        Of the Gaussian kernel; None: the median distance from a segment to its ten nearest.
    max_prototypes
        How many bags give a prototype; of more, an evenly spaced sample.
    max_iter
        Turns at most.

    References
    ----------
    Fu, Robles-Kelly, Zhou: MILIS, multiple instance learning with instance selection. PAMI 2011.
    """

    wants_lengths = True

    def __init__(
        self, C: float = 1.0, bandwidth: float | None = None, max_prototypes: int = 1000, max_iter: int = 10
    ) -> None:
        self.C = C
        self.bandwidth = bandwidth
        self.max_prototypes = max_prototypes
        self.max_iter = max_iter

    def _fit_bags(self, bags: Bags) -> None:
        chosen = spread_out(len(bags), self.max_prototypes)
        check_embedding(len(bags), len(chosen), "Set max_prototypes lower, or use voter cam")
        self.bandwidth_ = self._choose_bandwidth(bags)
        rows, best = self._pick_by_density(bags)[chosen], np.inf
        for n_iter in range(1, max(self.max_iter, 1) + 1):
            model, objective = self._train(bags, rows)
            if not objective < best:
                break
            best, self.n_iter_ = objective, n_iter
            self._keep(bags, rows, model)
            votes = self._score_rows(bags)
            rows = bags.find_best(np.where(bags.positive, votes, -votes))[chosen]

    def _pick_by_density(self, bags: Bags) -> np.ndarray:
        """(n_bags,) row of the most typical segment of *without* bags, of the least typical one of *with* bags."""
        negatives = bags.X[~bags.positive]
        negatives = negatives[spread_out(len(negatives), MAX_NEGATIVES)]
        density = sum_votes(bags.X, negatives, self.bandwidth_)
        return bags.find_best(np.where(bags.positive, -density, density))

    def _train(self, bags: Bags, rows: np.ndarray) -> tuple[LinearSVC, float]:
        """The SVM on the bags as these prototypes see them, and its objective."""
        table = embed_bags(bags, bags.X[rows], self.bandwidth_)
        model = LinearSVC(C=self.C, dual=False, class_weight="balanced", max_iter=10_000).fit(table, bags.labels)
        margins = np.where(bags.labels, 1, -1) * model.decision_function(table)
        weights = len(bags) / (2 * np.where(bags.labels, bags.labels.sum(), (~bags.labels).sum()))
        hinge = (weights * np.maximum(0, 1 - margins) ** 2).sum()
        return model, float(0.5 * (model.coef_**2).sum() + self.C * hinge)
