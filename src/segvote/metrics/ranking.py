"""Ranking of object before background: precision and recall over all thresholds, and average precision.

Equal scores are one group and one point of the curve, so that the order of the input does not matter.
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
    scores : (n,) float
        Higher means more likely object.
    truth : (n,) bool or float in [0, 1]
        The part of the segment that is object. With areas as weights the curve is that of the pixels.
    weights : (n,) float, optional
        For example areas; None counts every segment once.

    Returns
    -------
    precision, recall, thresholds : (n_groups,) float
        Recall never falls. Without any object recall is 0 everywhere.
    """
    scores, truth = np.asarray(scores, dtype=float), np.asarray(truth, dtype=float)
    weights = np.ones(scores.shape) if weights is None else np.asarray(weights, dtype=float)
    _check_ranking(scores, truth, weights)
    values, groups = np.unique(-scores, return_inverse=True)
    hits, misses = (np.cumsum(np.bincount(groups, weights * part).astype(float)) for part in (truth, 1 - truth))
    totals = hits + misses
    # A group of weight zero at the top has found nothing yet, and nothing found is nothing wrong.
    precision = np.divide(hits, totals, out=np.ones_like(hits), where=totals > 0)
    recall = hits / hits[-1] if hits[-1] > 0 else np.zeros_like(hits)
    return precision, recall, -values


def average_precision(scores: ArrayLike, truth: ArrayLike, weights: ArrayLike | None = None) -> float:
    """Mean of precision over the steps of recall, without interpolation; parameters as for `precision_recall`.

    In [0, 1]; 0 where nothing is object.
    """
    precision, recall, _ = precision_recall(scores, truth, weights)
    return float(np.sum(np.diff(recall, prepend=0.0) * precision))


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
