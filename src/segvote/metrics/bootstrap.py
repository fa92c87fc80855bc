"""Percentile bootstrap over images: the interval of a mean, and of a paired difference with its p value.

Images are drawn with replacement by a seeded generator: equal input gives equal intervals, those of
`scipy.stats.bootstrap`, which rejects a single image and knows no p value. For CorLoc pass ``ious > threshold`` as
values.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from segvote.errors import BadInputError

LEVEL = 0.95  # of an interval
N_BLOCK = 1 << 22  # numbers drawn at once: 32 MB, however many images and rounds there are


@dataclass(frozen=True)
class Interval:
    """A mean and the interval that holds it."""

    mean: float
    low: float
    high: float


@dataclass(frozen=True)
class Difference(Interval):
    """A mean difference, its interval and its p value."""

    p_value: float


def bootstrap_mean(values: ArrayLike, n_rounds: int = 2000) -> Interval:
    """Mean over images with its percentile interval of 95 %.

    Parameters
    ----------
    values : (n_images,) float or bool
        One value per image.
    n_rounds : int
        Number of times the images are drawn anew.
    """
    values = _check_values(values)
    return Interval(float(values.mean()), *_find_limits(_draw_means(values, n_rounds)))


def bootstrap_difference(values: ArrayLike, others: ArrayLike, n_rounds: int = 2000) -> Difference:
    """Mean of ``values - others`` on the same images, drawn in pairs.

    Parameters
    ----------
    values, others : (n_images,) float or bool
        Figures of two methods, the same image at the same place.
    n_rounds : int
        As in `bootstrap_mean`.

    Returns
    -------
    Difference
        With a two-sided p value of at least ``2 / (n_rounds + 1)``.
    """
    values, others = _check_values(values), _check_values(others)
    if len(values) != len(others):
        raise BadInputError(
            f"a paired bootstrap needs both methods on the same images, got {len(values)}, {len(others)}"
        )
    gains = values - others
    means = _draw_means(gains, n_rounds)
    rarer_side = min(np.count_nonzero(means <= 0), np.count_nonzero(means >= 0))
    p_value = min(1.0, 2 * (rarer_side + 1) / (n_rounds + 1))
    return Difference(float(gains.mean()), *_find_limits(means), p_value)


def _check_values(values: ArrayLike) -> NDArray[np.float64]:
    values = np.asarray(values, dtype=float)
    if values.ndim != 1 or values.size == 0 or np.isnan(values).any():
        raise BadInputError(
            f"a bootstrap needs one number per image and at least one image, got shape {values.shape} "
            f"with {int(np.isnan(values).sum())} nan"
        )
    return values


def _draw_means(values: NDArray[np.float64], n_rounds: int) -> NDArray[np.float64]:
    rng = np.random.default_rng(0)
    n_images = len(values)
    n_at_once = max(1, N_BLOCK // n_images)
    counts = [min(n_at_once, n_rounds - start) for start in range(0, n_rounds, n_at_once)]
    return np.concatenate([values[rng.integers(n_images, size=(count, n_images))].mean(axis=1) for count in counts])


def _find_limits(means: NDArray[np.float64]) -> tuple[float, float]:
    low, high = np.quantile(means, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return float(low), float(high)
