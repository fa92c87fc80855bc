"""Figures of a run that decide between regions and lines: lines where all four agree, otherwise regions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import cv2
import numpy as np

from segvote.masks.lines import FILTERS, STEPS_PER_UNIT, LineFilter, measure_tails

# Shares of the pixels above the lower and above the higher threshold that are expected on an undamaged surface.
FALSE_SHARES = 0.1, 0.03
# Limits of the figures of `LineEvidence`.
MAX_WIDTH, MIN_SHARE, MIN_ELONGATION, MAX_THICKNESS = 0.9, 0.03, 7.0, 0.75


@dataclass(frozen=True)
class LineEvidence:
    """Figures of a run: medians over its *with* images."""

    width: float  # of the selected segments, in sides of a segment of mean area
    share: float  # of their pixels, above the higher threshold
    elongation: float  # length of the lines drawn by their width
    thickness: float  # width of the lines by that of the selected segments

    @property
    def is_lines(self) -> bool:
        """Whether all four figures are those of lines."""
        return (
            self.width <= MAX_WIDTH
            and self.share >= MIN_SHARE
            and self.elongation >= MIN_ELONGATION
            and self.thickness <= MAX_THICKNESS
        )

    def explain(self) -> str:
        """The figures as a sentence for the report."""
        return (
            f"selected segments are {self.width:.2f} segments wide, {self.share:.0%} of their pixels have a local "
            f"contrast that is {1 / FALSE_SHARES[1]:.0f} times rarer in WITHOUT images, lines there are "
            f"{self.elongation:.1f} times longer than wide and {self.thickness:.2f} as wide as the selected segments"
        )


def measure_width(mask: np.ndarray) -> float:
    """Mean width of a mask (h, w) bool in pixels; 0 if it is empty.

    Four times the mean distance of its pixels to the background: of a strip, its width plus two pixels. The image's
    edge is no background.
    """
    if not mask.any() or mask.all():
        return float(min(mask.shape)) if mask.any() else 0.0
    return float(4 * _measure_depth(mask)[mask].mean())


def measure_elongation(mask: np.ndarray) -> float:
    """Diagonal of the box around a component by its width, mean over the pixels of a mask; 0 if it is empty."""
    n_parts, parts, boxes, _ = cv2.connectedComponentsWithStats(mask.astype(np.uint8), connectivity=8)
    if n_parts == 1 or mask.all():
        return 0.0
    areas = boxes[1:, cv2.CC_STAT_AREA]
    depths = np.bincount(parts.ravel(), weights=_measure_depth(mask).ravel())[1:]
    diagonals = np.hypot(boxes[1:, cv2.CC_STAT_WIDTH], boxes[1:, cv2.CC_STAT_HEIGHT])
    return float(np.average(diagonals / np.maximum(4 * depths / areas, 1), weights=areas))


def _measure_depth(mask: np.ndarray) -> np.ndarray:
    framed = np.pad(mask, 1, mode="edge").astype(np.uint8)
    return cv2.distanceTransform(framed, cv2.DIST_L2, 5)[1:-1, 1:-1]


def choose_filter(negative: np.ndarray, selected: Sequence[np.ndarray]) -> tuple[LineFilter, float, float, float]:
    """The filter that finds most in selected segments, its thresholds, and the share of pixels above the higher one.

    A threshold is the lowest response that pixels of *without* images reach so much more seldom than those of selected
    segments that of the pixels above it at most a share `FALSE_SHARES` is expected on an undamaged surface.

    Parameters
    ----------
    negative : ndarray
        (n_filters, n_steps) responses in *without* images, counted by `count_responses`.
    selected : sequence of ndarray
        The same in the selected segments of each *with* image; images have equal weight.
    """
    sound, found = measure_tails(negative), np.mean([measure_tails(counts) for counts in selected], axis=0)
    lows, highs = (_find_lowest(sound <= share * found) for share in FALSE_SHARES)
    shares = found[np.arange(len(found)), highs]
    best = int(shares.argmax())
    return FILTERS[best], lows[best] / STEPS_PER_UNIT, highs[best] / STEPS_PER_UNIT, float(shares[best])


def _find_lowest(is_rare: np.ndarray) -> list[int]:
    """(n_filters,) first step (n_filters, n_steps) that is rare on an undamaged surface; the last if none is."""
    return np.where(is_rare.any(axis=1), is_rare.argmax(axis=1), is_rare.shape[1] - 1).tolist()
