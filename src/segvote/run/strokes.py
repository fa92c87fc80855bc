"""Strokes of the user on one image: labels of segments, painted pixels, and instances that were cut and joined.

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

UNDECIDED = -1
# Share of a segment that painted pixels of one value must cover to be its user label.
COVERED = 0.8
# A smaller share of a segment that was painted is a retouch, which says nothing about what is like the segment.
LEAST_PAINTED = 0.1
# A line may leave a few pixels on the rim alone: fewer than this are not counted as an object.
SLIVER = 8


def fix_segments(strokes: Sequence[Action], labels: np.ndarray, n_segments: int = 0) -> np.ndarray:
    """User labels of the segments of one image.

    Parameters
    ----------
    strokes
        *set* and *paint* actions on one image, the oldest first; later ones lie above earlier ones.
    labels
        (h, w) segment ids 0 .. n-1, of any size.
    n_segments
        How many there are, where `labels` does not show the last ones: a frame of a video.

    Returns
    -------
    (n,) int8: see `Canvas.label_segments`.
    """
    return Canvas(labels.shape, strokes).label_segments(labels, n_segments)  # type: ignore[arg-type]


class Canvas:
    """Strokes on one image laid over each other; shows more of them, or fewer, without beginning anew where it can.

    Parameters
    ----------
    size
        (height, width) of the grid, laid over the displayed image.
    strokes
        What is shown at first.

    Attributes
    ----------
    values
        (h, w) int8: 1 object, 0 background, -1 undecided.
    exact
        (h, w) bool: painted, not clicked; False where undecided.
    """

    def __init__(self, size: tuple[int, int], strokes: Sequence[Action] = ()) -> None:
        self.size = size
        self._clear()
        self.show(strokes)

    def _clear(self) -> None:
        self.values = np.full(self.size, UNDECIDED, dtype=np.int8)
        self.exact = np.zeros(self.size, dtype=bool)
        self._shown: list[Action] = []

    def show(self, strokes: Sequence[Action]) -> None:
        """Show these strokes, the oldest first, and no others."""
        if list(strokes[: len(self._shown)]) != self._shown:
            self._clear()
        for stroke in strokes[len(self._shown) :]:
            self._lay(stroke)
        self._shown = list(strokes)

    def _lay(self, stroke: Action) -> None:
        mask = decode_rle({"size": [stroke.height, stroke.width], "counts": stroke.counts})
        pixels = resize_labels(mask, self.size)
        self.values[pixels] = stroke.value
        self.exact[pixels] = stroke.kind == "paint" and stroke.value != UNDECIDED

    def label_segments(self, labels: np.ndarray, n_segments: int = 0) -> np.ndarray:
        """(n,) int8 user labels of segments (h, w), of which a frame of a video need not show all.

        0 or 1 where more than half of a segment's pixels have that value from clicked segments, or at least `COVERED`
        of them have it at all; -1 elsewhere.
        """
        flat, values, exact = labels.ravel(), self.values.ravel(), self.exact.ravel()
        areas = np.bincount(flat, minlength=n_segments)
        user_labels = np.full(len(areas), UNDECIDED, dtype=np.int8)
        for value in (0, 1):
            covered = np.bincount(flat, weights=values == value, minlength=len(areas))
            clicked = np.bincount(flat, weights=(values == value) & ~exact, minlength=len(areas))
            user_labels[(2 * clicked > areas) | ((covered >= COVERED * areas) & (covered > 0))] = value
        return user_labels

    def measure_painted(self, labels: np.ndarray, n_segments: int = 0) -> np.ndarray:
        """(n,) in [-1, 1]: share of each segment (h, w) painted object, less the share painted background.

        0 where that is less than `LEAST_PAINTED`, and where clicked segments cover more than half.
        """
        flat, values, exact = labels.ravel(), self.values.ravel(), self.exact.ravel()
        areas = np.bincount(flat, minlength=n_segments)
        painted = np.bincount(flat, weights=np.where(exact, 2 * values - 1, 0), minlength=len(areas))
        clicked = np.bincount(flat, weights=~exact & (values != UNDECIDED), minlength=len(areas))
        shares = painted / np.maximum(areas, 1)
        return np.where((np.abs(shares) < LEAST_PAINTED) | (2 * clicked > areas), 0.0, shares)

    def override(self, mask: np.ndarray) -> np.ndarray:
        """A mask (h, w) bool with the painted pixels as they were painted."""
        return np.where(self.exact, self.values == 1, mask)


def lay_over(mask: np.ndarray, strokes: Sequence[Action]) -> np.ndarray:
    """A mask (h, w) bool of an image with the pixels that the user painted; the same mask where nothing was painted."""
    if not any(stroke.kind == "paint" for stroke in strokes):
        return mask
    return Canvas(mask.shape, strokes).override(mask)  # type: ignore[arg-type]


def find_painted(strokes: Sequence[Action], size: tuple[int, int]) -> np.ndarray:
    """(h, w) bool: the pixels of an image of that size that the user painted."""
    return Canvas(size, strokes).exact


# Instances -----------------------------------------------------------------------------------------------------------


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
