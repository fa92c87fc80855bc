"""The limit of a segmentation: what a perfect voter could reach with these segments.

Printed beside every result, it tells whether segments or votes are to blame. Truth may have another size than the label
map, because work is done at a working size: labels are then resized to the truth, never the other way round.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from segvote.errors import BadInputError
from segvote.kernels.pixels import resize_labels
from segvote.metrics.overlap import measure_iou, split_truth


def measure_areas(labels: ArrayLike, truth: ArrayLike) -> NDArray[np.int64]:
    """Count the visible (not ignored) pixels of every segment, at the truth's size: the weights of a segment AP.

    Parameters
    ----------
    labels
        (..., h, w) int, segment ids 0 .. n-1.
    truth
        (..., height, width) 255 object, 128 ignore, 0 background, or bool.

    Returns
    -------
    ndarray
        (n_segments,) int; 0 for a segment that is ignored altogether.
    """
    _, is_visible = split_truth(truth)
    return _count_inside(_fit_labels(labels, is_visible), is_visible, np.max(labels) + 1)


def label_by_truth(labels: ArrayLike, truth: ArrayLike) -> NDArray[np.float64]:
    """Measure which part of every segment is object: object area over visible area.

    Parameters
    ----------
    labels, truth
        As in `measure_areas`.

    Returns
    -------
    ndarray
        (n_segments,) in [0, 1]; 0 for a segment that is ignored altogether (its area is 0: give it no weight).
    """
    is_object, is_visible = split_truth(truth)
    fitted, n_segments = _fit_labels(labels, is_object), np.max(labels) + 1
    areas = _count_inside(fitted, is_visible, n_segments)
    return _count_inside(fitted, is_object, n_segments) / np.maximum(areas, 1)


def measure_limit(labels: ArrayLike, truth: ArrayLike) -> float:
    """Measure the overlap with the truth when every segment is labelled by the majority of its visible pixels.

    Parameters
    ----------
    labels, truth
        As in `measure_areas`.

    Returns
    -------
    float
        Intersection over union in [0, 1].
    """
    is_object, _ = split_truth(truth)
    majority = label_by_truth(labels, truth) > 0.5
    return measure_iou(majority[_fit_labels(labels, is_object)], truth)


def _fit_labels(labels: ArrayLike, truth: NDArray[np.bool_]) -> NDArray:
    labels = np.asarray(labels)
    if labels.shape[:-2] != truth.shape[:-2]:
        raise BadInputError(f"labels and truth must have equally many frames, got {labels.shape} and {truth.shape}")
    return resize_labels(labels, (truth.shape[-2], truth.shape[-1]))


def _count_inside(labels: NDArray, inside: NDArray[np.bool_], n_segments: int) -> NDArray[np.int64]:
    return np.bincount(labels[inside], minlength=n_segments)
