"""MILBoost: stumps added one by one, so that every *with* bag has a segment with a high score and no *without* bag has.

``y_ij = y_0 + sum_t l_t h_t(x_ij)``. There are two models of a bag: noisy-OR, ``p_i = 1 - prod_j (1 - p_ij)``
with ``p_ij = sigmoid(y_ij)``, and ISR (integrated segmentation and recognition), ``p_i = S_i / (1 + S_i)`` with ``S_i =
sum_j exp(y_ij)``. A round takes the derivative of the log-likelihood by every y_ij as the segment's weight, the stump
that agrees best with the weights, and the step along it that a line search finds.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import expit

from segvote.errors import BadInputError
from segvote.voters.bags import Bags, BagVoter

# The share of *with* bags expected before anything is learned.
PRIOR = 0.5
LONGEST_STEP = 4.0
# Boosting ends when the weights sum to no more than this per bag.
NO_WEIGHT = 1e-9
# Numbers per block of the stump search, which bounds its memory.
BLOCK = 1 << 22


def _log_expm1(x: np.ndarray) -> np.ndarray:
    """log(exp(x) - 1) without overflow."""
    x = np.maximum(x, np.finfo(float).tiny)
    return np.where(x > 30, x, np.log(np.expm1(np.minimum(x, 30.0))))


@dataclass(frozen=True)
class Stump:
    """``h(x) = amount if x[feature] > cut else -amount``."""

    feature: int
    cut: float
    amount: float

    def apply(self, X: np.ndarray) -> np.ndarray:
        return np.where(X[:, self.feature] > self.cut, self.amount, -self.amount)


class StumpSearch:
    """All cuts of all features at once: the columns are sorted once, a round is one cumulative sum per column."""

    def __init__(self, X: np.ndarray) -> None:
        self._columns = np.ascontiguousarray(X.T)  # (d, n)
        self._order = np.argsort(self._columns, axis=1, kind="stable").astype(np.int32)
        self._can_cut = np.diff(np.take_along_axis(self._columns, self._order, axis=1), axis=1) > 0

    def find(self, weights: np.ndarray) -> Stump | None:
        """The stump of amount 1 or -1 with the largest sum of weights times h; None where no feature can be cut."""
        if len(weights) < 2:
            return None
        best, feature, column = 0.0, 0, 0
        n_features = max(1, BLOCK // len(weights))
        for start in range(0, len(self._order), n_features):
            part = slice(start, start + n_features)
            # Sum of w h for the amount 1: the weights above the cut less those below.
            gains = weights.sum() - 2 * np.cumsum(weights[self._order[part]], axis=1)[:, :-1]
            gains[~self._can_cut[part]] = 0.0
            row, place = np.unravel_index(np.argmax(np.abs(gains)), gains.shape)
            if abs(gains[row, place]) > abs(best):
                best, feature, column = float(gains[row, place]), start + int(row), int(place)
        if not best:
            return None
        below, above = self._columns[feature, self._order[feature, column : column + 2]]
        return Stump(feature, float(below + 0.5 * (above - below)), float(np.sign(best)))


@dataclass(eq=False, repr=False)
class _Boost(BagVoter):
    """Rounds of boosting (Viola, Platt, Zhang 2005); the subclass is the model of a bag."""

    wants_lengths = True
    zero = 0.0  # p_ij = 1/2

    n_rounds: int = 100  # number of stumps

    @staticmethod
    def _start(size: float) -> float:
        """The y_0 at which a bag of this size has probability PRIOR: from y = 0 large bags would have no gradient."""
        raise NotImplementedError

    @staticmethod
    def _measure_odds(y: np.ndarray, bags: Bags) -> np.ndarray:
        """(n_bags,) log(p_i / (1 - p_i))."""
        raise NotImplementedError

    @classmethod
    def _differentiate(cls, y: np.ndarray, bags: Bags) -> np.ndarray:
        """(n,) derivative of the log-likelihood by every y_ij."""
        raise NotImplementedError

    @classmethod
    def _measure_likelihood(cls, y: np.ndarray, bags: Bags) -> float:
        """log L = sum over *with* bags of log p_i + sum over *without* bags of log(1 - p_i)."""
        log_odds = cls._measure_odds(y, bags)
        return float(-np.logaddexp(0, np.where(bags.labels, -log_odds, log_odds)).sum())

    def _fit_bags(self, bags: Bags) -> None:
        if self.n_rounds < 1:
            raise BadInputError(f"n_rounds must be at least 1; got {self.n_rounds}")
        search = StumpSearch(bags.X)
        self.start_ = self._start(float(bags.sizes.mean()))
        self.stumps_: list[Stump] = []
        y = np.full(len(bags.X), self.start_)
        for _ in range(self.n_rounds):
            weights = self._differentiate(y, bags)
            stump = search.find(weights) if np.abs(weights).sum() > NO_WEIGHT * len(bags) else None
            if stump is None:
                break
            step = self._search_line(y, stump.apply(bags.X), bags)
            self.stumps_.append(replace(stump, amount=step * stump.amount))
            y = y + self.stumps_[-1].apply(bags.X)
        self.n_iter_ = max(len(self.stumps_), 1)

    def _search_line(self, y: np.ndarray, direction: np.ndarray, bags: Bags) -> float:
        def lose(step: float) -> float:
            return -self._measure_likelihood(y + step * direction, bags)

        return float(minimize_scalar(lose, bounds=(0, LONGEST_STEP), method="bounded", options={"xatol": 1e-3}).x)

    def _score(self, X: np.ndarray, bags: np.ndarray, prior: np.ndarray) -> np.ndarray:
        y = np.full(len(X), self.start_)
        for stump in self.stumps_:
            y += stump.apply(X)
        return y

    def _score_bags(self, bags: Bags) -> np.ndarray:
        return self._measure_odds(self._score_rows(bags), bags)

    def _posterior(self, raw: np.ndarray) -> np.ndarray:
        return expit(raw)


class MILBoost(_Boost):
    """Noisy-OR: a bag is *without* if each segment is background, independently."""

    @staticmethod
    def _start(size: float) -> float:
        background = (1 - PRIOR) ** (1 / size)
        return float(np.log1p(-background) - np.log(background))

    @staticmethod
    def _measure_odds(y: np.ndarray, bags: Bags) -> np.ndarray:
        return _log_expm1(bags.sum(np.logaddexp(0, y)))  # of -log(1 - p_i)

    @classmethod
    def _differentiate(cls, y: np.ndarray, bags: Bags) -> np.ndarray:
        odds = np.exp(np.minimum(cls._measure_odds(y, bags), 700.0))  # p_i / (1 - p_i)
        factor = np.where(bags.labels, 1 / np.maximum(odds, np.finfo(float).tiny), -1.0)
        return expit(y) * np.repeat(factor, bags.sizes)


class MILBoostISR(_Boost):
    """ISR, the rule of Keeler, Rumelhart and Leow (1990): the odds of a bag are the sum of its segments' odds."""

    @staticmethod
    def _start(size: float) -> float:
        return float(np.log(PRIOR / (1 - PRIOR)) - np.log(size))

    @staticmethod
    def _measure_odds(y: np.ndarray, bags: Bags) -> np.ndarray:
        return np.logaddexp.reduceat(y, bags.starts)

    @classmethod
    def _differentiate(cls, y: np.ndarray, bags: Bags) -> np.ndarray:
        log_odds = cls._measure_odds(y, bags)
        share = np.exp(y - np.repeat(log_odds, bags.sizes))  # chi_ij / S_i
        factor = np.where(bags.labels, expit(-log_odds), -expit(log_odds))
        return share * np.repeat(factor, bags.sizes)
