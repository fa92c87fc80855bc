"""How much of the truth a mask or a box covers, and the paper's criterion made of it.

Truth is an array of 255 (object), 128 (ignore) and 0 (background), or bool. Ignored pixels count neither for nor
against. Boxes are (x0, y0, x1, y1) with the ends left out, so that ``x1 - x0`` is the width.

The limit of a segmentation is what a perfect voter could reach with its segments. Beside a result it tells whether
segments or votes are to blame. Truth may have another size than the label map, because work is done at a working size:
labels are then resized to the truth, never the other way round.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from segvote.errors import BadInputError
from segvote.kernels.pixels import resize_labels

OBJECT = 255
IGNORE = 128
IMAGE_THRESHOLD = 0.5  # the paper's criterion for images; for videos it asks less of the overlap
VIDEO_THRESHOLD = 0.125


def split_truth(truth: ArrayLike) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Split truth into object pixels and visible (not ignored) pixels.

    Parameters
    ----------
    truth
        (..., h, w) uint8 of 255 object, 128 ignore, 0 background; or bool.

    Returns
    -------
    is_object, is_visible
        (..., h, w) bool each.
    """
    truth = np.asarray(truth)
    if truth.dtype == np.bool_:
        return truth, np.ones(truth.shape, dtype=bool)
    is_object, is_ignored = truth == OBJECT, truth == IGNORE
    if not np.all(is_object | is_ignored | (truth == 0)):
        strange = np.setdiff1d(truth, [0, IGNORE, OBJECT])[:5].tolist()
        raise BadInputError(f"truth must be bool or hold 0, 128 and 255 only, got {strange}; read it with read_mask")
    return is_object, ~is_ignored


def measure_iou(mask: ArrayLike, truth: ArrayLike) -> float:
    """Intersection over union of a mask with the truth, ignored pixels left out.

    Parameters
    ----------
    mask
        (..., h, w) bool; a video is one mask of shape (frames, h, w).
    truth
        Same shape; 255 object, 128 ignore, 0 background, or bool.

    Returns
    -------
    float
        In [0, 1]; 1 where nothing was to be found and nothing was found.
    """
    mask = np.asarray(mask, dtype=bool)
    is_object, is_visible = split_truth(truth)
    if mask.shape != is_object.shape:
        raise BadInputError(f"mask and truth must have one shape, got {mask.shape} and {is_object.shape}; resize one")
    mask = mask & is_visible
    union = np.count_nonzero(mask | is_object)
    return np.count_nonzero(mask & is_object) / union if union else 1.0


def measure_corloc(ious: ArrayLike, threshold: float = IMAGE_THRESHOLD) -> float:
    """Fraction of images whose overlap is strictly above the threshold (what the paper calls average precision).

    Parameters
    ----------
    ious
        (n_images,) overlaps.
    threshold
        0.5 for images, 0.125 for videos in the paper.
    """
    ious = np.asarray(ious, dtype=float)
    if ious.size == 0:
        raise BadInputError("CorLoc needs the overlap of at least one image, got none; check the folder of truth")
    return float(np.mean(ious > threshold))


def find_box(mask: ArrayLike) -> NDArray[np.int64]:
    """Find the smallest box around a mask.

    Parameters
    ----------
    mask
        (h, w) bool.

    Returns
    -------
    ndarray
        (4,) x0, y0, x1, y1, ends left out; all 0 for an empty mask.
    """
    mask = np.asarray(mask, dtype=bool)
    columns, rows = np.flatnonzero(mask.any(axis=0)), np.flatnonzero(mask.any(axis=1))
    if columns.size == 0:
        return np.zeros(4, dtype=np.int64)
    return np.array([columns[0], rows[0], columns[-1] + 1, rows[-1] + 1], dtype=np.int64)


def measure_box_iou(boxes: ArrayLike, others: ArrayLike) -> NDArray[np.float64]:
    """Intersection over union of every box with every other.

    Parameters
    ----------
    boxes
        (n, 4) or (4,) x0, y0, x1, y1.
    others
        (m, 4) or (4,).

    Returns
    -------
    ndarray
        (n, m); 0 where both boxes are empty.
    """
    boxes = np.asarray(boxes, dtype=float).reshape(-1, 1, 4)
    others = np.asarray(others, dtype=float).reshape(1, -1, 4)
    sides = np.minimum(boxes[..., 2:], others[..., 2:]) - np.maximum(boxes[..., :2], others[..., :2])
    common = np.prod(np.maximum(sides, 0), axis=-1)  # (n, m)
    union = _measure_box_areas(boxes) + _measure_box_areas(others) - common
    return np.divide(common, union, out=np.zeros_like(common), where=union > 0)


def _measure_box_areas(boxes: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.prod(np.maximum(boxes[..., 2:] - boxes[..., :2], 0), axis=-1)


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


def _fit_labels(labels: ArrayLike, truth: NDArray[np.bool_]) -> NDArray:
    labels = np.asarray(labels)
    if labels.shape[:-2] != truth.shape[:-2]:
        raise BadInputError(f"labels and truth must have equally many frames, got {labels.shape} and {truth.shape}")
    return resize_labels(labels, (truth.shape[-2], truth.shape[-1]))


def _count_inside(labels: NDArray, inside: NDArray[np.bool_], n_segments: int) -> NDArray[np.int64]:
    return np.bincount(labels[inside], minlength=n_segments)
