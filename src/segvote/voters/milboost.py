"""MILBoost: stumps added one by one so that every *with* bag has a segment that says yes and no *without* bag has one.

``y_ij = y_0 + sum_t l_t h_t(x_ij)``. Two models say how segments make a bag: noisy-OR, ``p_i = 1 - prod_j (1 - p_ij)``
with ``p_ij = sigmoid(y_ij)``, and ISR (integrated segmentation and recognition), ``p_i = S_i / (1 + S_i)`` with ``S_i =
sum_j exp(y_ij)``. A round takes the derivative of the log-likelihood by every y_ij as the segment's weight, the stump
that agrees best with the weights, and the step along it that a line search finds.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import expit

from segvote.errors import BadInputError
from segvote.voters.bags import Bags, BagVoter

# The share of *with* bags expected before anything is learned.
PRIOR = 0.5
LONGEST_STEP = 4.0
# Bags are as good as explained when no weights add up to more than this per bag.
NO_WEIGHT = 1e-9
# Numbers per block of the stump search: a bounded piece of memory whatever the sizes.
BLOCK = 1 << 22


def _log_expm1(x: np.ndarray) -> np.ndarray:
    """log(exp(x) - 1) without overflow."""
    x = np.maximum(x, np.finfo(float).tiny)
    return np.where(x > 30, x, np.log(np.expm1(np.minimum(x, 30.0))))


@dataclass(frozen=True)
class Stump:
    """``h(x) = sign if x[feature] > cut else -sign``."""

    feature: int
    cut: float
    sign: float

    def apply(self, X: np.ndarray) -> np.ndarray:
        return np.where(X[:, self.feature] > self.cut, self.sign, -self.sign)


class StumpSearch:
    """All cuts of all features at once: the columns are sorted once, a round is one cumulative sum per column."""

    def __init__(self, X: np.ndarray) -> None:
        self._columns = np.ascontiguousarray(X.T)  # (d, n)
        self._order = np.argsort(self._columns, axis=1, kind="stable").astype(np.int32)
        ranked = np.take_along_axis(self._columns, self._order, axis=1)
        self._can_cut = np.diff(ranked, axis=1) > 0

    def find(self, weights: np.ndarray) -> Stump | None:
        """The stump with the largest sum of weights times h; None where no feature can be cut."""
        best, place = 0.0, (-1, -1)
        for start in range(0, len(self._order), max(1, BLOCK // len(weights))):
            part = slice(start, start + max(1, BLOCK // len(weights)))
            # Sum of w h for the sign +: the weights above the cut less those below.
            gains = weights.sum() - 2 * np.cumsum(weights[self._order[part]], axis=1)[:, :-1]
            gains[~self._can_cut[part]] = 0.0
            row, column = np.unravel_index(np.argmax(np.abs(gains)), gains.shape) if gains.size else (0, 0)
            if gains.size and abs(gains[row, column]) > abs(best):
                best, place = float(gains[row, column]), (start + int(row), int(column))
        return self._make(place, best) if best else None

    def _make(self, place: tuple[int, int], gain: float) -> Stump:
        feature, column = place
        below, above = self._columns[feature, self._order[feature, column : column + 2]]
        return Stump(feature, float(below + 0.5 * (above - below)), float(np.sign(gain)))


class _Boost(BagVoter):
    """Rounds of boosting; the subclass is the model of a bag."""

    wants_lengths = True

    def __init__(self, n_rounds: int = 100) -> None:
        self.n_rounds = n_rounds

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
        self.steps_: list[float] = []
        y = np.full(len(bags.X), self.start_)
        for _ in range(self.n_rounds):
            weights = self._differentiate(y, bags)
            stump = search.find(weights) if np.abs(weights).sum() > NO_WEIGHT * len(bags) else None
            if stump is None:
                break
            direction = stump.apply(bags.X)
            step = self._search_line(y, direction, bags)
            y = y + step * direction
            self.stumps_.append(stump)
            self.steps_.append(step)
        self.n_iter_ = max(len(self.stumps_), 1)

    def _search_line(self, y: np.ndarray, direction: np.ndarray, bags: Bags) -> float:
        def lose(step: float) -> float:
            return -self._measure_likelihood(y + step * direction, bags)

        return float(minimize_scalar(lose, bounds=(0, LONGEST_STEP), method="bounded", options={"xatol": 1e-3}).x)

    def _score(self, X: np.ndarray, bags: np.ndarray, prior: np.ndarray) -> np.ndarray:
        y = np.full(len(X), self.start_)
        for stump, step in zip(self.stumps_, self.steps_, strict=True):
            y += step * stump.apply(X)
        return y

    def _score_bags(self, bags: Bags) -> np.ndarray:
        return self._measure_odds(self._score_rows(bags), bags)

    def _find_threshold(self, raw: np.ndarray, segments: object) -> float:
        return 0.0  # p_ij = 1/2

    def _posterior(self, raw: np.ndarray) -> np.ndarray:
        return expit(raw)


class MILBoost(_Boost):
    """Boosting of stumps under the noisy-OR model: a bag is *without* if each segment is background, independently.

    Parameters
    ----------
    n_rounds
        Number of stumps.

    References
    ----------
    Viola, Platt, Zhang: Multiple instance boosting for object detection. NIPS 2005.
    """

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
    """Boosting of stumps under the ISR model: the odds of a bag are the sum of its segments' odds.

    Parameters
    ----------
    n_rounds
        Number of stumps.

    References
    ----------
    Viola, Platt, Zhang: Multiple instance boosting for object detection. NIPS 2005; the rule is that of Keeler,
    Rumelhart and Leow (NIPS 1990).
    """

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
