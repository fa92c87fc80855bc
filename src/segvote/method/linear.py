"""A linear classifier of segments, selected against all others.

Neighbours find objects that repeat; where objects vary, a direction in feature space finds more of them. Least squares
on two balanced classes (the direction of Fisher's linear discriminant), then a logistic curve from its values to
probabilities. Closed form, no training loop.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import expit
from threadpoolctl import threadpool_limits

from segvote.kernels.points import list_blocks

# Added to the diagonal of the covariance, in units of its mean.
RIDGE = 0.3
# How far the curve corrects for the classes' sizes: 1 keeps them, 0 makes object and background as common.
SIZE_EXPONENT = 0.5
ROWS_PER_BLOCK = 8192


@dataclass(frozen=True)
class LinearPosterior:
    """Probability of object, expit(X @ direction + offset)."""

    direction: np.ndarray  # (d,)
    offset: float

    def measure(self, X: np.ndarray) -> np.ndarray:
        """(n,) probability that segments (n, d) are object."""
        return expit(np.einsum("ij,j->i", X, self.direction.astype(X.dtype)).astype(np.float64) + self.offset)


def fit_posterior(X: np.ndarray, selected: np.ndarray, areas: np.ndarray, used: np.ndarray) -> LinearPosterior:
    """Fit to the selected segments (n,) bool against the others, of those used (n,) bool; areas (n,) are weights."""
    if not (selected & used).any() or not (~selected & used).any():
        return LinearPosterior(np.zeros(X.shape[1]), 20.0 if (selected & used).any() else -20.0)
    direction = fit_direction(X, selected, used)
    values = np.einsum("ij,j->i", X, direction.astype(X.dtype)).astype(np.float64)
    slope, offset = _fit_curve(values, selected, areas * used)
    return LinearPosterior(slope * direction, offset)


def fit_direction(X: np.ndarray, selected: np.ndarray, used: np.ndarray) -> np.ndarray:
    """(d,) (C + r I)^-1 times the weighted difference of the means, with both classes weighing one half."""
    weights = used * np.where(selected, 0.5 / (selected & used).sum(), 0.5 / (~selected & used).sum())
    targets = np.where(selected, 1.0, -1.0)
    n_dims = X.shape[1]
    mean, cross, moment = np.zeros(n_dims), np.zeros(n_dims), np.zeros((n_dims, n_dims))
    # One thread: the rounding of a matrix product depends on how many share it.
    with threadpool_limits(limits=1):
        for rows in list_blocks(len(X), ROWS_PER_BLOCK):
            weighted = X[rows] * weights[rows, None].astype(X.dtype)
            mean += weighted.sum(axis=0, dtype=np.float64)
            cross += np.einsum("ij,i->j", weighted, targets[rows].astype(X.dtype))
            moment += weighted.T @ X[rows]
        covariance = moment - np.outer(mean, mean)
        # The covariance of equal features is rounding, of either sign.
        least = np.finfo(X.dtype).eps * np.trace(moment) + np.finfo(float).tiny
        ridge = max(RIDGE * np.trace(covariance), least) / len(covariance)
        # The targets have mean zero, so that the cross moment is the covariance with them.
        return np.linalg.solve(covariance + ridge * np.eye(len(covariance)), cross)


def _fit_curve(values: np.ndarray, selected: np.ndarray, areas: np.ndarray) -> tuple[float, float]:
    """Slope and offset of the logistic curve from values to classes.

    The weights come to one for each segment, so that the unit penalty on the slope of the standardised values counts
    for little unless the classes are separable.
    """
    from sklearn.linear_model import LogisticRegression

    centre, scale = float(values.mean()), float(values.std()) or 1.0
    part = areas[selected].sum() / areas.sum()
    weights = np.where(selected, areas * part ** (SIZE_EXPONENT - 1), areas * (1 - part) ** (SIZE_EXPONENT - 1))
    model = LogisticRegression(C=1.0, tol=1e-8, max_iter=1000)
    with threadpool_limits(limits=1):
        model.fit(((values - centre) / scale)[:, None], selected, sample_weight=weights * len(values) / weights.sum())
    slope = float(model.coef_[0, 0]) / scale
    return slope, float(model.intercept_[0]) - slope * centre
