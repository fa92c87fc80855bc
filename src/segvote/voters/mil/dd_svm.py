"""DD-SVM: bags described by their distance to the concepts diverse density finds, classified by an SVM."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from sklearn.svm import SVC

from segvote.errors import BadInputError
from segvote.voters.mil.concepts import BagLoss, Concept, climb, screen_starts
from segvote.voters.mil.learning_bags import Bags, BagVoter
from segvote.voters.standard import learn_standard

# Two concepts whose points are nearer than this (in their own scale) are one.
SAME_CONCEPT = 1.0


class DDSVM(BagVoter):
    """Many concepts, for *with* bags and (labels exchanged) for *without* bags; an SVM on the distances to all of them.

    A segment is scored as a typical *without* bag (the mean of their distances) to which it has been added. Alone, as a
    bag of one, it would be far from every concept but its own, like no bag the SVM has seen.

    Parameters
    ----------
    n_starts
        Climbs for each label; they begin at the most promising of ten times as many segments.
    max_iter
        Steps of a climb at most.
    C
        Inverse strength of the SVM's regularisation.

    Attributes
    ----------
    concepts_
        The concepts kept: distinct, and at least half way from the worst climb to the best.

    References
    ----------
    Chen, Wang: Image categorization by learning and reasoning with regions. JMLR 2004.
    """

    def __init__(self, n_starts: int = 20, max_iter: int = 50, C: float = 1.0) -> None:
        self.n_starts = n_starts
        self.max_iter = max_iter
        self.C = C

    def _fit_bags(self, bags: Bags) -> None:
        if self.n_starts < 1:
            raise BadInputError(f"n_starts must be at least 1; got {self.n_starts}")
        self._standard = learn_standard(bags.X)
        scaled = replace(bags, X=self._standard.apply(bags.X))
        self.concepts_ = self._find_concepts(scaled) + self._find_concepts(replace(scaled, labels=~scaled.labels))
        table = self._embed(scaled)
        self._typical = table[~bags.labels].mean(axis=0)
        self._table_standard = learn_standard(table)
        # libsvm's gamma="scale" depends on the table alone, so equal bags give equal machines.
        self._model = SVC(C=self.C, class_weight="balanced").fit(self._table_standard.apply(table), bags.labels)

    def _find_concepts(self, bags: Bags) -> list[Concept]:
        loss = BagLoss(bags)
        found = [climb(loss, theta, self.max_iter) for theta in screen_starts(bags, self.n_starts)]
        found.sort(key=lambda concept: concept.loss)
        good = 0.5 * (found[0].loss + found[-1].loss)
        kept: list[Concept] = []
        for concept in found:
            if concept.loss <= good and all(other.measure(concept.point[None])[0] > SAME_CONCEPT for other in kept):
                kept.append(concept)
        return kept

    def _measure(self, X: np.ndarray) -> np.ndarray:
        """(n, n_concepts) distances of standardised segments to the concepts, each in the concept's own scale."""
        return np.sqrt(np.column_stack([concept.measure(X) for concept in self.concepts_]))

    def _embed(self, bags: Bags) -> np.ndarray:
        return -bags.max(-self._measure(bags.X))

    def _score(self, X: np.ndarray, bags: np.ndarray, prior: np.ndarray) -> np.ndarray:
        table = np.minimum(self._measure(self._standard.apply(X)), self._typical)
        return self._model.decision_function(self._table_standard.apply(table))

    def _score_bags(self, bags: Bags) -> np.ndarray:
        table = self._embed(replace(bags, X=self._standard.apply(bags.X)))
        return self._model.decision_function(self._table_standard.apply(table))
