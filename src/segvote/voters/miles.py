"""MILES and MILIS: bags become vectors of their nearness to training segments, and a linear SVM weighs those segments.

A segment is scored as a bag of one, ``f(x) = sum_k w_k k(x, t_k) + b``: every prototype t_k is a training segment that
votes.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import LinearSVC

from segvote.numerics import sum_kernel
from segvote.numerics.spread import spread_evenly
from segvote.voters.bags import Bags, BagVoter
from segvote.voters.kernel_votes import choose_bandwidth
from segvote.voters.prototypes import Prototypes, PrototypeVoter, check_embedding, embed_bags

# Segments of which the typical distance is taken; of more, an evenly spaced sample.
MAX_TYPICAL = 2000
# Negatives whose density the first prototypes are chosen by; of more, an evenly spaced sample.
MAX_NEGATIVES = 10_000


@dataclass(eq=False, repr=False)
class _EmbeddedBags(PrototypeVoter, BagVoter):
    """A linear SVM on the nearness of bags to prototypes; the subclass chooses the prototypes."""

    C: float = 1.0  # inverse strength of the SVM's regularisation
    bandwidth: float | None = None  # of the Gaussian kernel; None: see `choose_bandwidth`
    max_prototypes: int = 2000  # most segments (of MILIS: bags) that are, or give, a prototype; an even sample of more

    def _choose_bandwidth(self, bags: Bags) -> float:
        return choose_bandwidth(self.bandwidth, bags.X[spread_evenly(len(bags.X), MAX_TYPICAL)], bags.X)

    def _keep(self, bags: Bags, rows: np.ndarray, model: LinearSVC) -> None:
        """Keep the prototypes that have a weight."""
        used = np.flatnonzero(model.coef_[0])
        points, amounts, gamma = bags.X[rows[used]], model.coef_[0][used], 0.5 / self.bandwidth_**2
        self.prototypes_ = Prototypes(points, amounts, bags.rows[rows[used]], gamma, float(model.intercept_[0]))

    def _score_bags(self, bags: Bags) -> np.ndarray:
        prototypes = self.prototypes_
        return embed_bags(bags, prototypes.points, self.bandwidth_) @ prototypes.amounts + prototypes.intercept


class MILES(_EmbeddedBags):
    """Multiple-instance learning via embedded instance selection (Chen, Bi, Wang 2006).

    A sparse (1-norm) SVM picks the segments that matter. Its loss is the squared hinge, which scikit-learn's solver
    offers with the 1-norm.
    """

    def _fit_bags(self, bags: Bags) -> None:
        rows = spread_evenly(len(bags.X), self.max_prototypes)
        check_embedding(len(bags), len(rows), "Set max_prototypes lower, or use voter milis or cam")
        self.bandwidth_ = self._choose_bandwidth(bags)
        table = embed_bags(bags, bags.X[rows], self.bandwidth_)
        model = LinearSVC(penalty="l1", dual=False, C=self.C, class_weight="balanced", max_iter=2000, random_state=0)
        with warnings.catch_warnings():
            # The last digits converge slowly where prototypes are near each other; the same ones are kept.
            warnings.simplefilter("ignore", ConvergenceWarning)
            self._keep(bags, rows, model.fit(table, bags.labels))


@dataclass(eq=False, repr=False)
class MILIS(_EmbeddedBags):
    """Multiple-instance learning with instance selection (Fu, Robles-Kelly, Zhou 2011): one prototype per bag.

    The first prototype of a *without* bag is its most typical segment, by the density of the negatives, that of a
    *with* bag its least typical one. In turns, an SVM on the bags is trained and every prototype is replaced by the
    segment of its bag with the highest score for the bag's label, as long as the SVM's objective falls: our reading of
    the update.
    """

    wants_lengths = True

    max_prototypes: int = 1000
    max_iter: int = 10  # turns at most

    def _fit_bags(self, bags: Bags) -> None:
        chosen = spread_evenly(len(bags), self.max_prototypes)
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
        negatives = negatives[spread_evenly(len(negatives), MAX_NEGATIVES)]
        density = sum_kernel(bags.X, negatives, [self.bandwidth_])[0]
        return bags.find_best(np.where(bags.positive, -density, density))

    def _train(self, bags: Bags, rows: np.ndarray) -> tuple[LinearSVC, float]:
        """The SVM on the bags as these prototypes see them, and its objective."""
        table = embed_bags(bags, bags.X[rows], self.bandwidth_)
        model = LinearSVC(C=self.C, dual=False, class_weight="balanced", max_iter=10_000).fit(table, bags.labels)
        margins = np.where(bags.labels, 1, -1) * model.decision_function(table)
        weights = len(bags) / (2 * np.where(bags.labels, bags.labels.sum(), (~bags.labels).sum()))
        hinge = (weights * np.maximum(0, 1 - margins) ** 2).sum()
        return model, float(0.5 * (model.coef_**2).sum() + self.C * hinge)
