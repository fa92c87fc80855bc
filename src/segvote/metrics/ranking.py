"""How well scores put object before background: precision and recall over all thresholds, average precision, AUC.

Equal scores stand or fall together: they are one group and one point of a curve, so that the order of the input never
matters.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from segvote.errors import BadInputError

Array = NDArray[np.float64]


def precision_recall(
    scores: ArrayLike, truth: ArrayLike, weights: ArrayLike | None = None
) -> tuple[Array, Array, Array]:
    """Precision and recall of "score at least t" for every score t that occurs, the highest first.

    Parameters
    ----------
    scores
        (n,) higher means more likely object.
    truth
        (n,) bool, or in [0, 1]: the part of the segment that is object. With areas as weights and parts as truth the
        curve is the pixels' curve.
    weights
        (n,) for example areas; None counts every segment once.

    Returns
    -------
    precision, recall, thresholds
        (n_groups,) each; recall never falls. Without any object recall is 0 everywhere.
    """
    thresholds, hits, misses = _sum_groups(scores, truth, weights)
    hits, misses = np.cumsum(hits), np.cumsum(misses)
    found = hits + misses
    # A group of weight zero at the top has found nothing yet, and nothing found is nothing wrong.
    precision = np.divide(hits, found, out=np.ones_like(hits), where=found > 0)
    recall = hits / hits[-1] if hits[-1] > 0 else np.zeros_like(hits)
    return precision, recall, thresholds


def average_precision(scores: ArrayLike, truth: ArrayLike, weights: ArrayLike | None = None) -> float:
    """Average precision: the mean of precision over the steps of recall, without interpolation.

    Parameters
    ----------
    scores, truth, weights
        As in `precision_recall`.

    Returns
    -------
    float
        In [0, 1]; 0 where nothing is object.
    """
    precision, recall, _ = precision_recall(scores, truth, weights)
    return float(np.sum(np.diff(recall, prepend=0.0) * precision))


def measure_auc(scores: ArrayLike, truth: ArrayLike, weights: ArrayLike | None = None) -> float:
    """Probability that an object outranks a background, ties counting one half (area under the ROC curve).

    Parameters
    ----------
    scores, truth, weights
        As in `precision_recall`; for images: the score of the image, and whether it is a *with* image.

    Returns
    -------
    float
        In [0, 1]; nan where one of the two kinds is missing.
    """
    _, hits, misses = _sum_groups(scores, truth, weights)
    if hits.sum() == 0 or misses.sum() == 0:
        return float("nan")
    outranked = misses.sum() - np.cumsum(misses) + misses / 2
    return float(np.sum(hits * outranked) / (hits.sum() * misses.sum()))


def _sum_groups(scores: ArrayLike, truth: ArrayLike, weights: ArrayLike | None) -> tuple[Array, Array, Array]:
    """Sum object and background weight over groups of equal score, highest score first."""
    scores, truth = np.asarray(scores, dtype=float), np.asarray(truth, dtype=float)
    weights = np.ones(scores.shape) if weights is None else np.asarray(weights, dtype=float)
    _check_ranking(scores, truth, weights)
    values, group_ids = np.unique(-scores, return_inverse=True)
    hits = np.bincount(group_ids, weights * truth, len(values)).astype(float)
    misses = np.bincount(group_ids, weights * (1 - truth), len(values)).astype(float)
    return -values, hits, misses


def _check_ranking(scores: Array, truth: Array, weights: Array) -> None:
    if scores.ndim != 1 or scores.size == 0 or scores.shape != truth.shape or scores.shape != weights.shape:
        raise BadInputError(
            "scores, truth and weights must be three equally long lists that are not empty, "
            f"got shapes {scores.shape}, {truth.shape}, {weights.shape}"
        )
    if np.isnan(scores).any():
        raise BadInputError(f"scores must be numbers, got {int(np.isnan(scores).sum())} nan; leave those segments out")
    if not np.all((truth >= 0) & (truth <= 1)):
        raise BadInputError(f"truth must be between 0 and 1, got {truth.min()} to {truth.max()}; divide by the area")
    if not np.all(weights >= 0):
        raise BadInputError(f"weights must not be negative, got {weights.min()}; pass areas")
