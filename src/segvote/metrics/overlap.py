"""Overlap of masks and boxes with the truth, CorLoc, and the truth counted per segment.

Truth is an array of 255 (object), 128 (ignore) and 0 (background), or bool. Ignored pixels count neither for nor
against. Boxes are (x0, y0, x1, y1) with the ends left out, so that ``x1 - x0`` is the width.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from segvote.errors import BadInputError
from segvote.numerics.pixels import resize_labels

OBJECT = 255
IGNORE = 128
IMAGE_THRESHOLD = 0.5  # the paper's criterion for images; for videos it asks less of the overlap
VIDEO_THRESHOLD = 0.125


def split_truth(truth: ArrayLike) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Object pixels and visible (not ignored) pixels of the truth, bool arrays of its shape."""
    truth = np.asarray(truth)
    if truth.dtype == np.bool_:
        return truth, np.ones(truth.shape, dtype=bool)
    is_object, is_ignored = truth == OBJECT, truth == IGNORE
    if not np.all(is_object | is_ignored | (truth == 0)):
        strange = np.setdiff1d(truth, [0, IGNORE, OBJECT])[:5].tolist()
        raise BadInputError(f"truth must be bool or hold 0, 128 and 255 only, got {strange}; read it with read_mask")
    return is_object, ~is_ignored


def check_pair(mask: ArrayLike, truth: ArrayLike) -> tuple[NDArray[np.bool_], NDArray[np.bool_], NDArray[np.bool_]]:
    """A mask and the object pixels and visible pixels of the truth, (h, w) bool each; raises for unequal shapes."""
    mask, (is_object, is_visible) = np.asarray(mask, dtype=bool), split_truth(truth)
    if mask.ndim != 2 or mask.shape != is_object.shape:
        raise BadInputError(f"mask and truth must be (h, w) of one shape, got {mask.shape} and {is_object.shape}")
    return mask, is_object, is_visible


def measure_iou(mask: ArrayLike, truth: ArrayLike) -> float:
    """Intersection over union of a mask with the truth, ignored pixels left out.

    Parameters
    ----------
    mask : (h, w) bool
        What was marked.
    truth : (h, w) uint8 or bool
        255 object, 128 ignore, 0 background.

    Returns
    -------
    float
        In [0, 1]; 1 where both are empty.
    """
    mask, is_object, is_visible = check_pair(mask, truth)
    mask = mask & is_visible
    union = np.count_nonzero(mask | is_object)
    return np.count_nonzero(mask & is_object) / union if union else 1.0


def measure_corloc(ious: ArrayLike, threshold: float = IMAGE_THRESHOLD) -> float:
    """Fraction of images whose overlap (n_images,) is strictly above the threshold; the paper's average precision."""
    ious = np.asarray(ious, dtype=float)
    if ious.size == 0:
        raise BadInputError("CorLoc needs the overlap of at least one image, got none; check the folder of truth")
    return float(np.mean(ious > threshold))


def find_box(mask: ArrayLike) -> NDArray[np.int64]:
    """(4,) the smallest box around a mask (h, w); all 0 for an empty mask."""
    mask = np.asarray(mask, dtype=bool)
    columns, rows = np.flatnonzero(mask.any(axis=0)), np.flatnonzero(mask.any(axis=1))
    if columns.size == 0:
        return np.zeros(4, dtype=np.int64)
    return np.array([columns[0], rows[0], columns[-1] + 1, rows[-1] + 1], dtype=np.int64)


def measure_box_iou(boxes: ArrayLike, others: ArrayLike) -> NDArray[np.float64]:
    """(n, m) intersection over union of boxes (n, 4) or (4,) with others (m, 4) or (4,); 0 where both are empty."""
    boxes = np.asarray(boxes, dtype=float).reshape(-1, 1, 4)
    others = np.asarray(others, dtype=float).reshape(1, -1, 4)
    sides = np.minimum(boxes[..., 2:], others[..., 2:]) - np.maximum(boxes[..., :2], others[..., :2])
    common = np.prod(np.maximum(sides, 0), axis=-1)
    areas = [np.prod(np.maximum(one[..., 2:] - one[..., :2], 0), axis=-1) for one in (boxes, others)]
    union = areas[0] + areas[1] - common
    return np.divide(common, union, out=np.zeros_like(common), where=union > 0)


def label_by_truth(labels: ArrayLike, truth: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Measure which part of each segment is object, and its visible area.

    Parameters
    ----------
    labels : (h, w) int
        Segments 0 .. n-1, resized to the truth where it has another size.
    truth : (height, width) uint8 or bool
        255 object, 128 ignore, 0 background.

    Returns
    -------
    fractions, areas : (n_segments,) float, (n_segments,) int
        Object area over visible area, in [0, 1], and visible pixels at the truth's size; both are 0 for a segment that
        is ignored altogether.
    """
    is_object, is_visible = split_truth(truth)
    fitted, n_segments = resize_labels(labels, (is_object.shape[0], is_object.shape[1])), np.max(labels) + 1
    areas, inside = (np.bincount(fitted[pixels], minlength=n_segments) for pixels in (is_visible, is_object))
    return inside / np.maximum(areas, 1), areas
