"""Thresholds on scores: where object begins when nobody has drawn a mask."""

from __future__ import annotations

import numpy as np

__all__ = ["match_count", "otsu_threshold"]


def otsu_threshold(scores: np.ndarray, weights: np.ndarray | None = None) -> float:
    """Split scores in two so that the variance between the halves is greatest (Otsu), without a histogram.

    Every gap between neighbouring sorted values is tried. The threshold is the middle of the best gap; equal scores
    cannot be split, and if all are equal the threshold is that value.
    """
    order = np.argsort(scores, kind="stable")
    values = np.asarray(scores, dtype=np.float64)[order]
    mass = np.ones(len(values)) if weights is None else np.asarray(weights, dtype=np.float64)[order]
    below = np.cumsum(mass)[:-1]
    above = mass.sum() - below
    moment = np.cumsum(mass * values)
    with np.errstate(divide="ignore", invalid="ignore"):
        between = (moment[-1] * below / (below + above) - moment[:-1]) ** 2 / (below * above)
    between[~np.isfinite(between) | (np.diff(values) <= 0)] = -1
    if len(between) == 0 or between.max() < 0:
        return float(values[0])
    best = int(np.argmax(between))
    return float(0.5 * (values[best] + values[best + 1]))


def match_count(scores: np.ndarray, n_selected: int) -> float:
    """The threshold above which `n_selected` scores lie (more where scores tie): the paper's rule for CRANE."""
    if n_selected <= 0:
        return float(np.inf)
    ranked = np.sort(scores)[::-1]
    return float(np.nextafter(ranked[min(n_selected, len(ranked)) - 1], -np.inf))
