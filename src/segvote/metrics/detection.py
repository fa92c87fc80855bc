"""Single objects as a detector is judged: average precision by COCO's rule, count error, overlap of boxes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy  # ndimage and optimize are loaded when used
from numpy.typing import ArrayLike, NDArray

from segvote.errors import BadInputError
from segvote.metrics.instances import EIGHT_NEIGHBOURS
from segvote.metrics.overlap import check_pair, measure_box_iou

# COCO's thresholds: 0.5, 0.55, … 0.95.
THRESHOLDS = tuple(np.linspace(0.5, 0.95, 10).round(2).tolist())
RECALLS = np.linspace(0, 1, 101)


@dataclass(frozen=True)
class Detections:
    """The objects marked in one image, compared with the true ones."""

    scores: tuple[float, ...]  # of each marked object
    ious: tuple[float, ...]  # of each marked object with the true object that it overlaps most
    n_true: int
    box_iou: float | None  # see `measure_box_overlap`; None where there is neither a marked nor a true object


def match_detections(mask: ArrayLike, truth: ArrayLike, instances: ArrayLike, scores: ArrayLike) -> Detections:
    """Compare the objects of a mask with the connected parts of the truth.

    Ignored pixels are left out, and with them an object that lies in an ignored region altogether.

    Parameters
    ----------
    mask : (h, w) bool
        What was marked.
    truth : (h, w) uint8 or bool
        255 object, 128 ignore, 0 background.
    instances : (h, w) int
        The object of each pixel of the mask, from 1.
    scores : (n_objects,) float
        Of the objects in the order of their numbers.

    Examples
    --------
    >>> import numpy as np
    >>> from segvote.metrics import match_detections
    >>> truth = np.array([[1, 1, 0, 0, 1]], dtype=bool)
    >>> match_detections(truth, truth, [[1, 1, 0, 0, 2]], [0.3, 0.4])
    Detections(scores=(0.3, 0.4), ious=(1.0, 1.0), n_true=2, box_iou=1.0)
    """
    mask, is_object, is_visible = check_pair(mask, truth)
    marked, scores = np.where(mask & is_visible, instances, 0), np.asarray(scores, dtype=float)
    if marked.max(initial=0) > len(scores):
        raise BadInputError(f"expected a score for each of {marked.max()} objects, got {len(scores)}; give one each")
    true, n_true = scipy.ndimage.label(is_object, EIGHT_NEIGHBOURS)
    areas, true_areas = np.bincount(marked.ravel(), minlength=len(scores) + 1), np.bincount(true.ravel())
    both = (marked > 0) & (true > 0)
    pairs, common = np.unique(np.column_stack([marked[both], true[both]]), axis=0, return_counts=True)
    ious = np.zeros(len(areas))
    np.maximum.at(ious, pairs[:, 0], common / (areas[pairs[:, 0]] + true_areas[pairs[:, 1]] - common))
    seen = np.flatnonzero(areas[1:]) + 1
    box_iou = measure_box_overlap(list_boxes(marked), list_boxes(true))
    return Detections(tuple(scores[seen - 1].tolist()), tuple(ious[seen].tolist()), n_true, box_iou)


def list_boxes(objects: np.ndarray) -> NDArray[np.int64]:
    """(n, 4) boxes x0, y0, x1, y1 of the objects (h, w) of numbers from 1 that have a pixel."""
    boxes = [box for box in scipy.ndimage.find_objects(objects) if box is not None]
    return np.array([(x.start, y.start, x.stop, y.stop) for y, x in boxes], dtype=np.int64).reshape(-1, 4)


def measure_box_overlap(boxes: np.ndarray, others: np.ndarray) -> float | None:
    """Mean IoU of boxes (n, 4) with others (m, 4), paired so that it is highest; a box without a partner has 0."""
    if not len(boxes) and not len(others):
        return None
    overlaps = measure_box_iou(boxes, others)
    rows, columns = scipy.optimize.linear_sum_assignment(overlaps, maximize=True)
    return float(overlaps[rows, columns].sum() / max(overlaps.shape))


def measure_instance_ap(images: Sequence[Detections], threshold: float = 0.5) -> float | None:
    """Average precision of the objects of all images together, by COCO's rule; None where there is no true object.

    Objects are sorted by score, highest first; one is right if its IoU is at least `threshold`. Precision is made to
    fall with recall and averaged over 101 values of recall. From one half on, overlaps of objects that share no pixel
    belong to one pair each, so that no assignment has to be chosen.
    """
    n_true = sum(image.n_true for image in images)
    if not n_true:
        return None
    scores = np.concatenate([np.array(image.scores) for image in images])
    is_right = np.concatenate([np.array(image.ious) for image in images]) >= threshold
    is_right = is_right[np.argsort(-scores, kind="stable")]
    n_right = np.cumsum(is_right)
    precision = np.maximum.accumulate((n_right / np.arange(1, len(n_right) + 1))[::-1])[::-1]
    places = np.searchsorted(n_right / n_true, RECALLS)
    return float(np.append(precision, 0.0)[places.clip(max=len(precision))].mean())


def measure_mean_ap(images: Sequence[Detections]) -> float | None:
    """Mean of `measure_instance_ap` over COCO's ten thresholds; None where there is no true object."""
    figures = [measure_instance_ap(images, threshold) for threshold in THRESHOLDS]
    return None if figures[0] is None else float(np.mean([figure for figure in figures if figure is not None]))


def measure_count_error(images: Sequence[Detections]) -> float:
    """Mean difference, without sign, of the numbers of marked and true objects of an image."""
    return float(np.mean([abs(len(image.scores) - image.n_true) for image in images]))
