"""Diverse density: a point and a scale per feature, ``P(x) = exp(-sum_k s_k^2 (x_k - t_k)^2)``, that fit the bags best.

The likelihood is ``prod_with (1 - prod_j (1 - P_ij)) prod_without prod_j (1 - P_ij)``, computed in logarithms with its
gradient and climbed from several *with* segments. Bags of one segment turn it into the likelihood EM-DD climbs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from scipy.optimize import minimize
from sklearn.svm import SVC

from segvote.errors import BadInputError
from segvote.numerics.spread import spread_evenly
from segvote.numerics.threads import use_one_thread
from segvote.voters.bags import Bags, BagVoter, Standard

# Squared distances are kept in this range: beyond, a probability is 0 or 1 to the last digit and has no logarithm.
NEAREST, FARTHEST = 1e-9, 600.0
# How many starts are looked at for each one that climbs.
LOOKED_AT = 10
# A turn of EM that lowers the loss by less is the last.
SMALLEST_GAIN = 1e-6
# Two concepts whose points are nearer than this (in their own scale) are one.
SAME_CONCEPT = 1.0


@dataclass(frozen=True)
class Concept:
    """A point (d,), a scale (d,) and their loss; `theta` is point and scale in one vector."""

    point: np.ndarray
    scale: np.ndarray
    loss: float

    @classmethod
    def read(cls, theta: np.ndarray, loss: float) -> Concept:
        point, scale = np.split(theta, 2)
        return cls(point, np.abs(scale), float(loss))

    @property
    def theta(self) -> np.ndarray:
        return np.concatenate([self.point, self.scale])

    def measure(self, X: np.ndarray) -> np.ndarray:
        """(n,) -log P of the rows."""
        return np.einsum("ij,j->i", (X - self.point) ** 2, self.scale**2)


class BagLoss:
    """Minus the logarithm of diverse density, and its gradient, as functions of ``theta = (point, scale)``."""

    def __init__(self, bags: Bags) -> None:
        self.bags, self._positive, self._sizes = bags, bags.positive, bags.sizes
        self._table = np.hstack([bags.X, bags.X**2])

    def __call__(self, theta: np.ndarray) -> tuple[float, np.ndarray]:
        squares = self.measure_squares(theta).clip(NEAREST, FARTHEST)
        background = np.log(-np.expm1(-squares))  # log(1 - P_ij)
        no_object, some_object = self._measure_bags(background)
        loss = -np.where(self.bags.labels, some_object, no_object).sum()
        # d log p_i / d q_ij = -P_ij (1 - p_i) / ((1 - P_ij) p_i), d log(1 - P) / d q = P / (1 - P).
        draw = np.repeat(np.where(self.bags.labels, no_object - some_object, 0.0), self._sizes)
        slopes = np.exp(draw - squares - background)
        slopes = np.where(self._positive, slopes, -slopes)
        return float(loss), self.differentiate(theta, slopes)

    def measure(self, theta: np.ndarray) -> np.ndarray:
        """() the loss alone by (2 d,), or (m,) by (m, 2 d)."""
        squares = self.measure_squares(theta).clip(NEAREST, FARTHEST)
        no_object, some_object = self._measure_bags(np.log(-np.expm1(-squares)).T)
        return -np.where(self.bags.labels, some_object.T, no_object.T).sum(axis=-1)

    def share(self, shares: np.ndarray) -> Callable[[np.ndarray], tuple[float, np.ndarray]]:
        """The loss of generalised EM, ``sum_with sum_j r_ij q_ij - sum_without log(1 - P)``, by shares r (n,)."""

        def measure(theta: np.ndarray) -> tuple[float, np.ndarray]:
            squares = self.measure_squares(theta).clip(NEAREST, FARTHEST)
            background = np.log(-np.expm1(-squares))
            loss = np.where(self._positive, shares * squares, -background).sum()
            slopes = np.where(self._positive, shares, -np.exp(-squares - background))
            return float(loss), self.differentiate(theta, slopes)

        return measure

    def measure_squares(self, theta: np.ndarray) -> np.ndarray:
        """(n,) ``q = sum_k s_k^2 (x_k - t_k)^2`` by theta (2 d,), or (m, n) by (m, 2 d)."""
        point, scale = np.split(theta, 2, axis=-1)
        weights = scale**2
        factors = np.concatenate([-2 * weights * point, weights], axis=-1)
        return factors @ self._table.T + (weights * point**2).sum(axis=-1, keepdims=True)

    def differentiate(self, theta: np.ndarray, slopes: np.ndarray) -> np.ndarray:
        """The gradient of a loss whose derivative by every row's q is `slopes`."""
        point, scale = np.split(theta, 2)
        moment, moment_2 = np.split(slopes @ self._table, 2)
        total = slopes.sum()
        by_point = -2 * scale**2 * (moment - total * point)
        by_scale = 2 * scale * (moment_2 - 2 * point * moment + total * point**2)
        return np.concatenate([by_point, by_scale])

    def _measure_bags(self, background: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """From log(1 - P_ij): log prod_j (1 - P_ij), log (1 - prod_j (1 - P_ij))."""
        no_object = self.bags.sum(background)
        return no_object, np.log(-np.expm1(np.minimum(no_object, -np.finfo(float).tiny)))


def climb(loss: Callable[[np.ndarray], tuple[float, np.ndarray]], theta: np.ndarray, max_iter: int) -> Concept:
    """Descend the loss from theta by L-BFGS."""
    minimum = minimize(loss, theta, jac=True, method="L-BFGS-B", options={"maxiter": max_iter})
    return Concept.read(minimum.x, minimum.fun)


def climb_all(bags: Bags, n_starts: int, climb_from: Callable[[np.ndarray, BagLoss], Concept]) -> list[Concept]:
    """The concepts where climbs end that begin at the *with* segments with the least loss at the first scale.

    Of all *with* segments an evenly spaced sample of ten per climb is looked at. The first scale, ``1 / sqrt(d)`` on
    standardised features, puts typical pairs of segments about one or two squares apart, where there is a gradient.
    """
    if n_starts < 1:
        raise BadInputError(f"n_starts must be at least 1; got {n_starts}")
    candidates = np.flatnonzero(bags.positive)
    candidates = candidates[spread_evenly(len(candidates), LOOKED_AT * n_starts)]
    scale = np.full(bags.X.shape[1], bags.X.shape[1] ** -0.5)
    thetas = np.array([np.concatenate([bags.X[row], scale]) for row in candidates])
    loss = BagLoss(bags)
    with use_one_thread():  # the rounding of a product depends on how many threads share it
        order = np.argsort(loss.measure(thetas), kind="stable")
        return [climb_from(theta, loss) for theta in thetas[order[:n_starts]]]


@dataclass(eq=False, repr=False)
class _ConceptVoter(BagVoter):
    """Finds one concept, `concept_`; the vote for a segment is log P of the concept there."""

    zero = float(np.log(0.5))

    n_starts: int = 10  # climbs; they begin at the most promising of ten times as many *with* segments
    max_iter: int = 100  # steps of a climb at most

    def _fit_bags(self, bags: Bags) -> None:
        self._standard = Standard.learn(bags.X)
        scaled = replace(bags, X=self._standard.apply(bags.X))
        concepts = climb_all(scaled, self.n_starts, self._climb_from)
        self.concept_ = min(concepts, key=lambda concept: concept.loss)

    def _climb_from(self, theta: np.ndarray, loss: BagLoss) -> Concept:
        raise NotImplementedError

    def _score(self, X: np.ndarray, bags: np.ndarray, prior: np.ndarray) -> np.ndarray:
        return -self.concept_.measure(self._standard.apply(X))

    def _find_bag_threshold(self, bags: Bags) -> float:
        return self.zero

    def _posterior(self, raw: np.ndarray) -> np.ndarray:
        return np.exp(raw)


class DiverseDensity(_ConceptVoter):
    """Diverse density (Maron, Lozano-Pérez 1997), its maximum found from many starts."""

    def _climb_from(self, theta: np.ndarray, loss: BagLoss) -> Concept:
        return climb(loss, theta, self.max_iter)


@dataclass(eq=False, repr=False)
class EMDiverseDensity(_ConceptVoter):
    """EM-DD (Zhang, Goldman 2001): E takes the nearest segment of every bag, M climbs the density of those."""

    n_starts: int = 20
    max_turns: int = 20  # turns of E and M at most, each M of `max_iter` steps; they end when the loss falls no more

    def _climb_from(self, theta: np.ndarray, loss: BagLoss) -> Concept:
        best, nearest = Concept.read(theta, np.inf), self._choose_nearest(theta, loss)
        for _ in range(self.max_turns):
            concept = climb(nearest, best.theta, self.max_iter)
            # The nearest segments of the next turn may cost more than those climbed with.
            nearest = self._choose_nearest(concept.theta, loss)
            concept = replace(concept, loss=nearest(concept.theta)[0])
            if not concept.loss < best.loss - SMALLEST_GAIN:
                break
            best = concept
        return best

    def _choose_nearest(self, theta: np.ndarray, loss: BagLoss) -> BagLoss:
        """The loss of bags of one: the segment nearest to the concept, of *with* and of *without* bags."""
        bags, nearest = loss.bags, loss.bags.find_best(-loss.measure_squares(theta))
        return BagLoss(Bags(bags.X[nearest], np.arange(len(bags)), bags.labels, bags.rows[nearest]))


@dataclass(eq=False, repr=False)
class GEMDiverseDensity(_ConceptVoter):
    """GEM-DD, our reading: responsibility shared by the segments of a bag, a few steps of the climb per turn.

    E: ``r_ij = P_ij / sum_j P_ij`` in *with* bags. M: a few steps down ``sum r_ij q_ij - sum_without log(1 - P)``, in
    which every *without* segment counts. A turn that does not raise diverse density itself is the last.
    """

    max_iter: int = 5
    max_turns: int = 30  # turns of E and M at most

    def _climb_from(self, theta: np.ndarray, loss: BagLoss) -> Concept:
        bags, best = loss.bags, Concept.read(theta, float(loss.measure(theta)))
        for _ in range(self.max_turns):
            votes = -loss.measure_squares(best.theta)
            odds = np.exp(votes - np.repeat(bags.max(votes), bags.sizes))
            shares = odds / np.repeat(bags.sum(odds), bags.sizes)
            concept = climb(loss.share(shares), best.theta, self.max_iter)
            concept = replace(concept, loss=float(loss.measure(concept.theta)))
            if not concept.loss < best.loss - SMALLEST_GAIN:
                break
            best = concept
        return best


@dataclass(eq=False, repr=False)
class DDSVM(BagVoter):
    """DD-SVM (Chen, Wang 2004): an SVM on the distances of bags to many concepts, of *with* and of *without* bags.

    Concepts of *without* bags are found with labels exchanged. `concepts_` are those kept: distinct, and with a loss in
    the better half of the range. A segment is scored as a typical *without* bag (the mean of their distances) to which
    it has been added: as a bag of one it would be far from every concept but its own, unlike any bag.
    """

    n_starts: int = 20  # climbs for each label; they begin at the most promising of ten times as many segments
    max_iter: int = 50  # steps of a climb at most
    C: float = 1.0  # inverse strength of the SVM's regularisation

    def _fit_bags(self, bags: Bags) -> None:
        self._standard = Standard.learn(bags.X)
        scaled = replace(bags, X=self._standard.apply(bags.X))
        self.concepts_ = self._find_concepts(scaled) + self._find_concepts(replace(scaled, labels=~scaled.labels))
        table = self._embed(scaled)
        self._typical = table[~bags.labels].mean(axis=0)
        self._table_standard = Standard.learn(table)
        # libsvm's gamma="scale" depends on the table alone, so equal bags give equal machines.
        self._model = SVC(C=self.C, class_weight="balanced").fit(self._table_standard.apply(table), bags.labels)

    def _find_concepts(self, bags: Bags) -> list[Concept]:
        concepts = climb_all(bags, self.n_starts, lambda theta, loss: climb(loss, theta, self.max_iter))
        concepts.sort(key=lambda concept: concept.loss)
        good = 0.5 * (concepts[0].loss + concepts[-1].loss)
        kept: list[Concept] = []
        for concept in concepts:
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
