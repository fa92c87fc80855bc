"""Concepts: a point and a scale per feature, ``P(x) = exp(-sum_k s_k^2 (x_k - t_k)^2)``, and how bags agree with one.

The likelihood is that of diverse density, ``prod_with (1 - prod_j (1 - P_ij)) prod_without prod_j (1 - P_ij)``,
computed in logarithms with its gradient. Bags of one segment turn it into the likelihood EM-DD climbs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize

from segvote.voters.mil.learning_bags import Bags, spread_out

# Squared distances are kept in this range: beyond, a probability is 0 or 1 to the last digit and has no logarithm.
NEAREST, FARTHEST = 1e-9, 600.0
# How many starts are looked at for each one that climbs.
LOOKED_AT = 10


@dataclass(frozen=True)
class Concept:
    """A point (d,), a scale (d,) and the loss they were left with; `theta` is point and scale in one vector."""

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


class _Squares:
    """``q = sum_k s_k^2 (x_k - t_k)^2`` for all rows by two products, and its gradient by two more."""

    def __init__(self, X: np.ndarray) -> None:
        self.X, self.X_squared = X, X**2

    def measure(self, theta: np.ndarray) -> np.ndarray:
        point, scale = np.split(theta, 2)
        weights = scale**2
        squares = self.X_squared @ weights - self.X @ (2 * weights * point) + weights @ point**2
        return np.clip(squares, NEAREST, FARTHEST)

    def differentiate(self, theta: np.ndarray, slopes: np.ndarray) -> np.ndarray:
        """The gradient of a loss whose derivative by every row's q is `slopes`."""
        point, scale = np.split(theta, 2)
        total, moment, moment_2 = slopes.sum(), slopes @ self.X, slopes @ self.X_squared
        by_point = -2 * scale**2 * (moment - total * point)
        by_scale = 2 * scale * (moment_2 - 2 * point * moment + total * point**2)
        return np.concatenate([by_point, by_scale])


class BagLoss:
    """Minus the logarithm of diverse density, and its gradient, as functions of ``theta = (point, scale)``."""

    def __init__(self, bags: Bags) -> None:
        self._bags, self._positive = bags, bags.positive
        self._squares = _Squares(bags.X)

    def __call__(self, theta: np.ndarray) -> tuple[float, np.ndarray]:
        squares = self._squares.measure(theta)
        background = np.log(-np.expm1(-squares))  # log(1 - P_ij)
        no_object = self._bags.sum(background)  # log prod_j (1 - P_ij)
        some_object = np.log(-np.expm1(np.minimum(no_object, -np.finfo(float).tiny)))
        loss = -np.where(self._bags.labels, some_object, no_object).sum()
        # d log p_i / d q_ij = -P_ij (1 - p_i) / ((1 - P_ij) p_i), d log(1 - P) / d q = P / (1 - P).
        draw = np.repeat(no_object - some_object, self._bags.sizes)
        slopes = np.where(self._positive, np.exp(np.where(self._positive, draw, 0.0) - squares - background), 0.0)
        slopes = np.where(self._positive, slopes, -np.exp(-squares - background))
        return float(loss), self._squares.differentiate(theta, slopes)


class SoftLoss:
    """The loss of generalised EM: *with* segments weighted by their share in their bag, *without* segments equally.

    ``sum_with sum_j r_ij q_ij - sum_without log(1 - P)``.
    """

    def __init__(self, bags: Bags, shares: np.ndarray) -> None:
        self._positive, self._shares = bags.positive, shares
        self._squares = _Squares(bags.X)

    def __call__(self, theta: np.ndarray) -> tuple[float, np.ndarray]:
        squares = self._squares.measure(theta)
        background = np.log(-np.expm1(-squares))
        loss = np.where(self._positive, self._shares * squares, -background).sum()
        slopes = np.where(self._positive, self._shares, -np.exp(-squares - background))
        return float(loss), self._squares.differentiate(theta, slopes)


def climb(loss: Callable[[np.ndarray], tuple[float, np.ndarray]], theta: np.ndarray, max_iter: int) -> Concept:
    """Descend the loss from theta by L-BFGS."""
    found = minimize(loss, theta, jac=True, method="L-BFGS-B", options={"maxiter": max_iter})
    return Concept.read(found.x, found.fun)


def screen_starts(bags: Bags, n_starts: int) -> list[np.ndarray]:
    """The *with* segments from which a climb promises most: those with the least loss at the first scale.

    Of all *with* segments an evenly spaced sample of ten per climb is looked at. The first scale, ``1 / sqrt(d)`` on
    standardised features, puts typical pairs of segments about one or two squares apart, where there is a gradient.
    """
    candidates = np.flatnonzero(bags.positive)
    candidates = candidates[spread_out(len(candidates), LOOKED_AT * n_starts)]
    scale = np.full(bags.X.shape[1], bags.X.shape[1] ** -0.5)
    thetas = [np.concatenate([bags.X[row], scale]) for row in candidates]
    loss = BagLoss(bags)
    order = np.argsort([loss(theta)[0] for theta in thetas], kind="stable")
    return [thetas[index] for index in order[:n_starts]]
