"""A linear classifier of segments, selected against all others.

Neighbours find objects that repeat; where objects vary, a direction in feature space finds more of them. Least squares
on two balanced classes (the direction of Fisher's linear discriminant), then a logistic curve from its values to
probabilities. Closed form, no training loop.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse
from scipy.special import expit

from segvote.numerics.points import list_blocks
from segvote.numerics.threads import use_one_thread

# Added to the diagonal of the covariance, in units of its mean.
RIDGE = 0.3
# How far the curve corrects for the classes' sizes: 1 keeps them, 0 makes object and background as common.
SIZE_EXPONENT = 0.5
ROWS_PER_BLOCK = 8192


@dataclass(frozen=True)
class LinearPosterior:
    """Probability of object, expit(x . direction + mean of the adjacent x . context + offset)."""

    direction: np.ndarray  # (d,)
    offset: float
    weight: float = 1.0  # of the probability, beside other evidence
    context: np.ndarray | None = None  # (d,) for the mean features of adjacent segments; None: they do not count

    def measure(self, X: np.ndarray, adjacency: sparse.csr_matrix | None = None) -> np.ndarray:
        """(n,) probability that segments (n, d) are object; without adjacency (n, n) each is adjacent to itself."""
        values = _project(X, self.direction)
        if self.context is not None:
            around = _project(X, self.context)
            values = values + (around if adjacency is None else adjacency @ around)
        return expit(values + self.offset)


def _project(X: np.ndarray, direction: np.ndarray) -> np.ndarray:
    """(n,) products of rows (n, d) with a direction (d,), whose rounding does not depend on how many rows there are."""
    return np.einsum("ij,j->i", X, direction.astype(X.dtype)).astype(np.float64)


@dataclass(frozen=True)
class Moments:
    """Sums over segments: how many, of their features (d,), and of the outer products of these (d, d)."""

    n_segments: int
    features: np.ndarray
    products: np.ndarray

    def __sub__(self, other: Moments) -> Moments:
        pairs = zip(vars(self).values(), vars(other).values(), strict=True)
        return Moments(*(one - two for one, two in pairs))


def sum_moments(X: np.ndarray) -> Moments:
    """The moments of segments (n, d), products in the precision of X and sums in float64."""
    features, products = np.zeros(X.shape[1]), np.zeros((X.shape[1], X.shape[1]))
    # One thread: the rounding of a matrix product depends on how many share it.
    with use_one_thread():
        for rows in list_blocks(len(X), ROWS_PER_BLOCK):
            features += X[rows].sum(axis=0, dtype=np.float64)
            products += X[rows].T @ X[rows]
    return Moments(len(X), features, products)


def fit_posterior(
    X: np.ndarray, selected: np.ndarray, areas: np.ndarray, used: np.ndarray, moments: Moments | None = None
) -> LinearPosterior:
    """Fit to the selected segments (n,) bool against the others, of those used (n,) bool; areas (n,) are weights.

    `moments` of all segments spare most of the time where they are known.
    """
    # One class is missing: a probability of 1 or 0 everywhere.
    if not (selected & used).any() or not (~selected & used).any():
        return LinearPosterior(np.zeros(X.shape[1]), 20.0 if (selected & used).any() else -20.0)
    direction = fit_direction(X, selected, used, moments)
    values = _project(X, direction)
    slope, offset = _fit_curve(values, selected, areas * used)
    return LinearPosterior(slope * direction, offset)


def fit_direction(X: np.ndarray, selected: np.ndarray, used: np.ndarray, moments: Moments | None = None) -> np.ndarray:
    """(d,) (C + r I)^-1 times the weighted difference of the means, with both classes weighing one half.

    Segments that are neither selected nor unused are most of them: their moments are the difference of the others'
    from the `moments` of all.
    """
    moments = sum_moments(X) if moments is None else moments
    chosen = sum_moments(X[selected & used])
    others = moments - chosen - sum_moments(X[~used])
    halves = [0.5 / one.n_segments for one in (chosen, others)]
    mean, moment = (
        halves[0] * getattr(chosen, name) + halves[1] * getattr(others, name) for name in ("features", "products")
    )
    # The targets, 1 and -1, have mean zero, so that the cross moment is the covariance with them.
    cross = halves[0] * chosen.features - halves[1] * others.features
    with use_one_thread():
        covariance = moment - np.outer(mean, mean)
        # The covariance of equal features is rounding, of either sign.
        least = np.finfo(X.dtype).eps * np.trace(moment) + np.finfo(float).tiny
        ridge = max(RIDGE * np.trace(covariance), least) / len(covariance)
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
    with use_one_thread():
        model.fit(((values - centre) / scale)[:, None], selected, sample_weight=weights * len(values) / weights.sum())
    slope = float(model.coef_[0, 0]) / scale
    return slope, float(model.intercept_[0]) - slope * centre


# Fitted to labels ----------------------------------------------------------------------------------------------------

# Inverse strength of the penalty on standardised features: few labelled images have thousands of similar segments.
LABEL_PENALTY = 0.01


def fit_labelled(X: np.ndarray, context: np.ndarray, is_object: np.ndarray, weights: np.ndarray) -> LinearPosterior:
    """A logistic regression on labelled segments: features (n, d), mean features of adjacent segments (n, d), labels.

    Weights (n,) are those of the segments, which are all of one class in no call.
    """
    from sklearn.linear_model import LogisticRegression

    features = np.hstack([X, context]).astype(np.float64)
    mean, scale = features.mean(axis=0), features.std(axis=0)
    scale[scale < 1e-9] = 1.0
    model = LogisticRegression(C=LABEL_PENALTY, tol=1e-3, max_iter=300)
    with use_one_thread():
        model.fit((features - mean) / scale, is_object, sample_weight=weights * len(weights) / weights.sum())
    slopes = model.coef_[0] / scale
    n_dims = X.shape[1]
    offset = float(model.intercept_[0] - slopes @ mean)
    return LinearPosterior(slopes[:n_dims], offset, context=slopes[n_dims:])
