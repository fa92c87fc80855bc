"""Otsu's threshold on weighted values, without a histogram."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


def otsu_threshold(values: np.ndarray, weights: np.ndarray | None = None) -> float:
    """The threshold that splits values (n,) in two parts with the greatest variance between them.

    Every gap between neighbouring sorted values is tried; the threshold is the middle of the best one. Equal values
    cannot be split: if all are equal, the threshold is that value.

    Weights (n,) are positive, for example areas; default 1.
    """
    weights = np.ones(len(values)) if weights is None else weights
    return float(split_each([values], [weights])[0][0])


def split_each(values: Sequence[np.ndarray], weights: Sequence[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """(n_arrays,) thresholds and separabilities of arrays of values with weights, as `otsu_threshold`.

    Separability is the variance between the two parts over all variance.
    """
    thresholds, separabilities = np.empty(len(values)), np.empty(len(values))
    lengths = np.array([len(one) for one in values])
    # Images mostly have the same number of segments, and arrays of one length are split together.
    for length in np.unique(lengths):
        chosen = np.flatnonzero(lengths == length).tolist()
        rows = np.stack([values[place] for place in chosen]), np.stack([weights[place] for place in chosen])
        thresholds[chosen], separabilities[chosen] = _split_rows(*rows)
    return thresholds, separabilities


def _split_rows(values: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(n_rows,) thresholds and separabilities of the rows of values (n_rows, n) with weights."""
    order = np.argsort(values, axis=1, kind="stable")
    ranked = np.take_along_axis(np.asarray(values, dtype=np.float64), order, axis=1)
    if values.shape[1] == 1:
        return ranked[:, 0], np.zeros(len(ranked))
    mass = np.take_along_axis(np.asarray(weights, dtype=np.float64), order, axis=1)
    total = mass.sum(axis=1, keepdims=True)
    below = np.cumsum(mass, axis=1)[:, :-1]
    moment = np.cumsum(mass * ranked, axis=1)
    mean = moment[:, -1:] / total
    between = (moment[:, -1:] * below / total - moment[:, :-1]) ** 2
    between /= np.maximum(below * (total - below), np.finfo(float).tiny)
    between[np.diff(ranked, axis=1) <= 0] = -1.0
    best = np.argmax(between, axis=1)[:, None]
    highest = np.take_along_axis(between, best, axis=1)
    spread = (mass * (ranked - mean) ** 2).sum(axis=1, keepdims=True)
    separability = np.minimum(total * np.maximum(highest, 0) / np.maximum(spread, np.finfo(float).tiny), 1.0)
    middle = 0.5 * (np.take_along_axis(ranked, best, axis=1) + np.take_along_axis(ranked, best + 1, axis=1))
    # Where all values are equal there is no best gap.
    return np.where(highest >= 0, middle, ranked[:, :1])[:, 0], separability[:, 0]


# More sorted values than this are joined into groups of equal count before they are split in three.
MAX_SPLIT = 256


def split_in_three(values: np.ndarray, weights: np.ndarray) -> tuple[float, float]:
    """The two thresholds that split weighted values (n,) in three parts with the greatest variance between them.

    Where fewer than three values differ, both thresholds are the highest value.
    """
    order = np.argsort(values, kind="stable")
    ranked, mass = np.asarray(values, dtype=np.float64)[order], np.asarray(weights, dtype=np.float64)[order]
    ends = np.flatnonzero(np.diff(ranked, append=np.inf) > 0)  # last of each group of equal values
    if len(ends) > MAX_SPLIT:
        ends = ends[np.linspace(0, len(ends) - 1, MAX_SPLIT).round().astype(np.int64)]
    if len(ends) < 3:
        return float(ranked[-1]), float(ranked[-1])
    below, moment = np.cumsum(mass)[ends], np.cumsum(mass * ranked)[ends]
    low, high = np.triu_indices(len(ends) - 1, 1)
    parts = (
        (below[low], moment[low]),
        (below[high] - below[low], moment[high] - moment[low]),
        (below[-1] - below[high], moment[-1] - moment[high]),
    )
    best = int(np.argmax(sum(first**2 / zeroth for zeroth, first in parts)))
    middle = [0.5 * (ranked[ends[place]] + ranked[ends[place] + 1]) for place in (low[best], high[best])]
    return float(middle[0]), float(middle[1])
