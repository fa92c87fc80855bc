"""Strokes of the user on one image: labels of segments, painted pixels, and instances that were cut and joined.

A cut is a line, a join the pixels of the joined instances. Both are kept as pixels of the image, not as numbers of
instances, so they outlive a mask that changes around them; neither changes the mask.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import takewhile

import cv2
import numpy as np
import scipy  # ndimage is loaded when used

from segvote.io.encodings.rle import decode_rle
from segvote.io.images import resize_labels
from segvote.masks.objects import label_objects
from segvote.run.correction_log import Action

UNDECIDED = -1
# Share of a segment that painted pixels of one value must cover to be its user label.
COVERED = 0.8
# A smaller painted share of a segment is a retouch, which has no effect on similar segments.
LEAST_PAINTED = 0.1
# Strokes of a canvas that can be taken back without laying the others again, and the pixels that they may cover in all,
# in canvases.
N_REVERSIBLE, MOST_COVERED = 32, 4
# A line may leave a few pixels on the rim alone: fewer than this are not counted as an object.
SLIVER = 8


def decode_stroke(stroke: Action, size: tuple[int, ...]) -> np.ndarray:
    """(h, w) bool: the pixels of an action on a grid of another size."""
    return resize_labels(decode_rle({"size": [stroke.height, stroke.width], "counts": stroke.counts}), size)  # type: ignore[arg-type]


@dataclass(frozen=True)
class _Patch:
    """What lay below a stroke."""

    box: tuple[slice, slice]  # rows and columns of its pixels
    values: np.ndarray  # (rows, columns) int8
    exact: np.ndarray  # (rows, columns) bool


def _find_box(pixels: np.ndarray) -> tuple[slice, slice]:
    """Rows and columns of the pixels (h, w) bool that are set; none where none is."""
    rows, columns = np.flatnonzero(pixels.any(axis=1)), np.flatnonzero(pixels.any(axis=0))
    return (slice(rows[0], rows[-1] + 1), slice(columns[0], columns[-1] + 1)) if len(rows) else (slice(0), slice(0))


class Canvas:
    """Strokes on one image laid over each other; shows more of them without beginning anew.

    Parameters
    ----------
    size
        (height, width) of the grid, laid over the displayed image.
    strokes
        *set*, *paint* and *accept* actions, the oldest first; later ones lie above earlier ones.

    Attributes
    ----------
    values
        (h, w) int8: 1 object, 0 background, -1 undecided.
    exact
        (h, w) bool: painted, not clicked; False where undecided.
    """

    def __init__(self, size: tuple[int, ...], strokes: Sequence[Action] = ()) -> None:
        self.size = size
        self._clear()
        self.show(strokes)

    def _clear(self) -> None:
        self.values = np.full(self.size, UNDECIDED, dtype=np.int8)
        self.exact = np.zeros(self.size, dtype=bool)
        self._shown: list[Action] = []
        self._patches: deque[_Patch] = deque(maxlen=N_REVERSIBLE)

    def show(self, strokes: Sequence[Action]) -> None:
        """Show these strokes and no others."""
        n_same = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(self._shown, strokes, strict=False)))
        if len(self._shown) - n_same > len(self._patches):
            self._clear()
        while len(self._shown) > n_same:
            self._take_back()
        for stroke in strokes[len(self._shown) :]:
            self._lay(stroke)

    def _lay(self, stroke: Action) -> None:
        pixels = decode_stroke(stroke, self.size)
        is_mask = stroke.kind == "accept"  # of the whole image
        box = (slice(None), slice(None)) if is_mask else _find_box(pixels)
        self._patches.append(_Patch(box, self.values[box].copy(), self.exact[box].copy()))
        while sum(one.values.size for one in self._patches) > MOST_COVERED * pixels.size:
            self._patches.popleft()
        if is_mask:
            self.values[:], self.exact[:] = pixels, True
        else:
            self.values[pixels] = stroke.value
            self.exact[pixels] = stroke.kind == "paint" and stroke.value != UNDECIDED
        self._shown.append(stroke)

    def _take_back(self) -> None:
        below = self._patches.pop()
        self.values[below.box], self.exact[below.box] = below.values, below.exact
        self._shown.pop()

    def label_segments(self, labels: np.ndarray, n_segments: int = 0) -> np.ndarray:
        """(n,) int8 user labels of segments (h, w); `n_segments` where the last ones may not be visible.

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

    def measure_object(self, labels: np.ndarray, n_segments: int = 0) -> np.ndarray:
        """(n,) share of each segment (h, w) that is object; `n_segments` as for `label_segments`."""
        areas = np.bincount(labels.ravel(), minlength=n_segments)
        inside = np.bincount(labels.ravel(), weights=self.values.ravel() == 1, minlength=len(areas))
        return inside / np.maximum(areas, 1)

    def override(self, mask: np.ndarray) -> np.ndarray:
        """A mask (h, w) bool with the painted pixels as they were painted."""
        return np.where(self.exact, self.values == 1, mask)


def lay_over(mask: np.ndarray, strokes: Sequence[Action]) -> np.ndarray:
    """A mask (h, w) bool with the painted pixels of an image; the same mask where there are none."""
    if not any(stroke.kind in ("paint", "accept") for stroke in strokes):
        return mask
    return Canvas(mask.shape, strokes).override(mask)


def label_instances(mask: np.ndarray, divisions: Sequence[Action], objects: str = "pieces") -> np.ndarray:
    """(h, w) int32: the instances of a mask (h, w) bool, from 1 and from top to bottom; 0 background.

    They are the objects of `segvote.masks.objects.label_objects`, changed by *cut* and *join* actions, the oldest
    first: every instance that a cut passes through falls into the regions that its line separates, and those that a
    join covers, or lies within, become one.
    """
    instances = label_objects(mask, objects)
    for division in divisions:
        pixels = decode_stroke(division, mask.shape)
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
    """Join the instances of which more than half, or more than half of a region of `pixels`, lies in both."""
    n_regions, regions = cv2.connectedComponents(pixels.astype(np.uint8), connectivity=8, ltype=cv2.CV_32S)
    areas, sizes = np.bincount(instances.ravel()), np.bincount(regions.ravel(), minlength=n_regions)
    both = (instances > 0) & (regions > 0)
    pairs, shared = np.unique(np.stack([instances[both], regions[both]]), axis=1, return_counts=True)
    meant = np.unique(pairs[0][2 * shared > np.minimum(areas[pairs[0]], sizes[pairs[1]])])
    return np.where(np.isin(instances, meant), meant[0], instances) if len(meant) else instances


def _sort(instances: np.ndarray) -> np.ndarray:
    """The same, numbered from top to bottom, then from left to right."""
    boxes = scipy.ndimage.find_objects(instances)
    corners = [(box[0].start, box[1].start, number) for number, box in enumerate(boxes, start=1) if box is not None]
    numbers = np.zeros(len(boxes) + 1, dtype=np.int32)
    for place, (_, _, number) in enumerate(sorted(corners), start=1):
        numbers[number] = place
    return numbers[instances]
