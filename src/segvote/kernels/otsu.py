"""Otsu's threshold on weighted values, without a histogram."""

from __future__ import annotations

import numpy as np

__all__ = ["otsu_threshold", "split_otsu"]


def otsu_threshold(values: np.ndarray, weights: np.ndarray | None = None) -> float:
    """Split values in two so that the variance between the parts is greatest.

    Every gap between neighbouring sorted values is tried; the threshold is the middle of the best one. Equal values
    cannot be split: if all are equal, the threshold is that value.

    Parameters
    ----------
    values
        (n,) with n >= 1.
    weights
        (n,) positive, for example areas; default 1.
    """
    return split_otsu(values, weights)[0]


def split_otsu(values: np.ndarray, weights: np.ndarray | None = None) -> tuple[float, float]:
    """The threshold of `otsu_threshold`, and how well it separates: variance between the parts over all variance."""
    order = np.argsort(values, kind="stable")
    ranked = np.asarray(values, dtype=np.float64)[order]
    mass = np.ones(len(ranked)) if weights is None else np.asarray(weights, dtype=np.float64)[order]
    total = mass.sum()
    below = np.cumsum(mass)[:-1]
    above = total - below
    moment = np.cumsum(mass * ranked)
    between = (moment[-1] * below / total - moment[:-1]) ** 2 / np.maximum(below * above, np.finfo(float).tiny)
    between[np.diff(ranked) <= 0] = -1.0
    if len(between) == 0 or between.max() < 0:
        return float(ranked[0]), 0.0
    best = int(np.argmax(between))
    spread = (mass * (ranked - moment[-1] / total) ** 2).sum()
    separability = total * between[best] / max(float(spread), np.finfo(float).tiny)
    return float(0.5 * (ranked[best] + ranked[best + 1])), float(min(separability, 1.0))
