"""Single objects of a mask: its connected regions, as the user cut and joined them.

A cut is a line, a join the pixels of what was joined. Both are kept as pixels of the image, not as numbers of objects,
so they outlive a mask that changes around them; neither changes the mask.
"""

from __future__ import annotations

from collections.abc import Sequence

import cv2
import numpy as np
import scipy  # ndimage is loaded when used

from segvote.io.encodings.rle import decode_rle
from segvote.io.images import resize_labels
from segvote.run.correction_log import Action

# A line may leave a few pixels on the rim alone: fewer than this are not counted as an object.
SLIVER = 8


def label_instances(mask: np.ndarray, divisions: Sequence[Action]) -> np.ndarray:
    """Number the instances of a mask.

    Parameters
    ----------
    mask
        (h, w) bool.
    divisions
        *cut* and *join* actions on the image, the oldest first.

    Returns
    -------
    (h, w) int32: 0 background, instances from 1, from top to bottom. They are the 8-connected regions; every instance
    that a cut passes through falls into the regions that its line leaves apart, and those that a join covers, or lies
    within, become one.
    """
    _, instances = cv2.connectedComponents(mask.astype(np.uint8), connectivity=8, ltype=cv2.CV_32S)
    for division in divisions:
        pixels = decode_rle({"size": [division.height, division.width], "counts": division.counts})
        pixels = resize_labels(pixels, mask.shape)  # type: ignore[arg-type]
        instances = _cut(instances, pixels) if division.kind == "cut" else _join(instances, pixels)
    return _sort(instances)


def _cut(instances: np.ndarray, line: np.ndarray) -> np.ndarray:
    divided = instances.copy()
    for number in np.unique(instances[line & (instances > 0)]):
        whole = instances == number
        parts = _divide(whole, line)
        # The first part keeps the number.
        divided[whole] = np.where(parts[whole] > 1, parts[whole] + divided.max(), number)
    return divided


def _divide(whole: np.ndarray, line: np.ndarray) -> np.ndarray:
    """(h, w) parts of one instance from 1, pixels of the line with the nearest; 0 elsewhere."""
    _, parts, stats, _ = cv2.connectedComponentsWithStats((whole & ~line).astype(np.uint8), connectivity=8)
    small = stats[:, cv2.CC_STAT_AREA] < SLIVER
    if not small[1:].all():
        parts[small[parts]] = 0
    if not parts.any():
        return whole.astype(np.int32)
    _, (rows, columns) = scipy.ndimage.distance_transform_edt(parts == 0, return_indices=True)
    return np.where(whole, parts[rows, columns], 0)


def _join(instances: np.ndarray, pixels: np.ndarray) -> np.ndarray:
    """One instance of all that are meant: more than half of the instance, or of a region of `pixels`, lies in both."""
    n_regions, regions = cv2.connectedComponents(pixels.astype(np.uint8), connectivity=8, ltype=cv2.CV_32S)
    areas, sizes = np.bincount(instances.ravel()), np.bincount(regions.ravel(), minlength=n_regions)
    both = (instances > 0) & (regions > 0)
    pairs, shared = np.unique(np.stack([instances[both], regions[both]]), axis=1, return_counts=True)
    meant = np.unique(pairs[0][2 * shared > np.minimum(areas[pairs[0]], sizes[pairs[1]])])
    return np.where(np.isin(instances, meant), meant[0], instances) if len(meant) else instances


def _sort(instances: np.ndarray) -> np.ndarray:
    """The same, numbered from top to bottom, then from left to right."""
    boxes = scipy.ndimage.find_objects(instances)
    found = [(box[0].start, box[1].start, number) for number, box in enumerate(boxes, start=1) if box is not None]
    numbers = np.zeros(len(boxes) + 1, dtype=np.int32)
    for place, (_, _, number) in enumerate(sorted(found), start=1):
        numbers[number] = place
    return numbers[instances]
