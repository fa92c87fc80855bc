"""A simulated person in front of the review page, who knows the truth of every *with* image.

What the person sees is the mask as the page draws it. An error is a connected region of pixels of one kind, missed or
marked wrongly. With segments the person clicks the region, of any of the five sizes that the page offers, that gains
most; with pixels the person draws one lasso, Snap off, along the outline of the error whose lasso gains most, with
straight lines that stay within `HAND` pixels of it. A lasso has no holes: what it encloses changes, right or wrong.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import cv2
import numpy as np

from segvote.io.encodings.polygons import trace_polygons
from segvote.io.images import resize_labels
from segvote.io.masks import read_mask
from segvote.review.pictures import list_levels
from segvote.review.strokes import Stroke, draw_stroke
from segvote.run.run import Run
from segvote.types import WITH

# A region counts as one a person would click when so much of it is what the click says; and a correction is worth a
# click when it gains so much of the image's IoU.
PURE, WORTH = 0.85, 0.01
# How many pixels of the picture that was segmented a hand is off at most; and how many of the largest errors of each
# kind the person compares.
HAND, N_ERRORS = 2.0, 5
OBJECT, BACKGROUND = 255, 0  # of the truth; what lies between is not judged


class Person:
    """Knows the truth of a run's images and corrects the worst region of the image shown."""

    def __init__(self, run: Run, masks: Path) -> None:
        self.levels: list[np.ndarray] = []
        self.labels: list[np.ndarray] = []
        self.truths: dict[int, np.ndarray] = {}
        for index, record in enumerate(run.bags):
            segments = run.read_segments(index)
            self.labels.append(segments["labels"])
            self.levels.append(list_levels(segments["parents"], segments["altitudes"]))
            if record.bag_label == WITH:
                path = masks / f"{record.stem.split('/', 1)[1]}.png"
                self.truths[index] = resize_labels(read_mask(path), segments["labels"].shape)  # type: ignore[arg-type]

    def measure_iou(self, bag: int, mask: np.ndarray) -> float:
        """IoU of a mask (h, w) bool at working size."""
        there, not_there = self.truths[bag] == OBJECT, self.truths[bag] == BACKGROUND
        return float((mask & there).sum() / max((there | (mask & not_there)).sum(), 1))

    def find_worst(self, bag: int, mask: np.ndarray) -> tuple[np.ndarray, int] | None:
        """Segments and value of the correction that gains most on the mask shown; None where it is good as it is."""
        best, found = WORTH, None
        for regions in self.levels[bag]:
            for value in (1, 0):
                gain = self._measure_gain(bag, mask, regions, value)
                if gain.max() > best:
                    best, found = float(gain.max()), (np.flatnonzero(regions == np.argmax(gain)), value)
        return found

    def lasso_worst(self, bag: int, mask: np.ndarray) -> tuple[np.ndarray, int] | None:
        """Pixels and value of the lasso that gains most on the mask shown; None where it is good as it is."""
        before = self.measure_iou(bag, mask)
        best, found = WORTH, None
        for stroke, value in self._list_lassos(bag, mask):
            pixels = draw_stroke(stroke, mask, value)
            gain = self.measure_iou(bag, np.where(pixels, value == 1, mask)) - before
            if gain > best:
                best, found = gain, (pixels, value)
        return found

    def _list_lassos(self, bag: int, mask: np.ndarray) -> Iterator[tuple[Stroke, int]]:
        """Lassos around the largest errors of each kind, and what each says."""
        there, not_there = self.truths[bag] == OBJECT, self.truths[bag] == BACKGROUND
        for wrong, value in ((there & ~mask, 1), (not_there & mask, 0)):
            _, parts, stats, _ = cv2.connectedComponentsWithStats(wrong.astype(np.uint8), connectivity=4)
            areas = stats[1:, cv2.CC_STAT_AREA]
            for part in np.argsort(-areas, kind="stable")[:N_ERRORS] + 1:
                outline = trace_polygons(parts == part)[0].outer.astype(np.float32)
                corners = cv2.approxPolyDP(outline, HAND, closed=True)[:, 0]
                if len(corners) >= 3 and cv2.contourArea(corners) > 1:  # else thinner than the hand
                    yield Stroke("polygon", corners.astype(np.float64)), value

    def _measure_gain(self, bag: int, mask: np.ndarray, regions: np.ndarray, value: int) -> np.ndarray:
        """(n_regions,) IoU that calling each region object (1) or background (0) gains; 0 where it is not pure."""
        truth, pixels = self.truths[bag], regions[self.labels[bag]]
        sign, turned = (1, ~mask) if value else (-1, mask)
        there, not_there = truth == OBJECT, truth == BACKGROUND
        inside, either = (there & mask).sum(), (there | (not_there & mask)).sum()
        more_inside = sign * _count(pixels, there & turned)
        more_either = sign * _count(pixels, not_there & turned)
        gain = (inside + more_inside) / np.maximum(either + more_either, 1) - inside / max(either, 1)
        share = _count(pixels, there) / np.maximum(_count(pixels, there | not_there), 1)
        return np.where((share if value else 1 - share) >= PURE, gain, 0)


def _count(pixels: np.ndarray, marked: np.ndarray) -> np.ndarray:
    """(n_regions,) how many pixels of each region are marked."""
    return np.bincount(pixels.ravel(), marked.ravel())
