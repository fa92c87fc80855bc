"""Objects thinner than a segment, drawn by local contrast: cracks, scratches, hairlines.

A filter compares each pixel with its surroundings in one channel of Lab. The *without* images show which responses
occur on an undamaged surface, and so how many of the pixels above a threshold are not the object. Pixels above a lower
threshold, connected to pixels above a higher one, in and beside the selected segments, are the object.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

import cv2
import numpy as np

# Longest side, in pixels, of the picture that filters see; radii and widths below are pixels of it.
LINE_SIZE = 1024
# Gaussian that removes the grain of the camera, and the one that a pixel of a wide line is compared with.
GRAIN, SURROUNDINGS = 0.7, 16.0
# Radii of the discs of morphological filters; 0 stands for the difference to the wide Gaussian.
RADII = (0, 1, 2, 4)
# Lines are followed so far out of the selected segments.
REACH = 8
# Responses are counted in steps of 1 / 32 of a unit of Lab, up to 64 units.
STEPS_PER_UNIT, N_STEPS = 32, 2048
# Part of a segment that exceeds its peak: a line that crosses a segment covers a few hundredths of it.
PEAK_SHARE = 0.02
# Shares of the pixels above the lower and above the higher threshold that are expected on an undamaged surface.
FALSE_SHARES = 0.1, 0.03
# Limits of the figures of `LineEvidence`.
MAX_WIDTH, MIN_SHARE, MIN_ELONGATION, MAX_THICKNESS = 0.9, 0.03, 7.0, 0.75


class LineFilter(NamedTuple):
    """Local contrast of one channel."""

    channel: int  # of Lab
    sign: int  # 1 for lines of higher values than their surroundings, -1 for lower ones
    radius: int  # of the disc of a top-hat transform; 0: difference to a wide Gaussian

    def apply(self, smooth: np.ndarray) -> np.ndarray:
        """(h, w) float32 response to an image (h, w, 3) in Lab whose grain was removed."""
        values = self.sign * smooth[..., self.channel]
        if self.radius:
            return values - cv2.morphologyEx(values, cv2.MORPH_OPEN, _make_disc(self.radius))
        return values - cv2.GaussianBlur(values, (0, 0), SURROUNDINGS)


FILTERS = tuple(LineFilter(channel, sign, radius) for channel in range(3) for sign in (-1, 1) for radius in RADII)


def apply_filters(smooth: np.ndarray) -> Iterator[np.ndarray]:
    """(h, w) float32 response of each of `FILTERS`, as `LineFilter.apply` gives it.

    Half of the time is the wide Gaussian, which is blurred once for both signs: it is symmetric to the last bit.
    """
    for channel in range(3):
        difference = LineFilter(channel, 1, 0).apply(smooth)
        for line_filter in FILTERS:
            if line_filter.channel == channel:
                yield line_filter.apply(smooth) if line_filter.radius else line_filter.sign * difference


def remove_grain(lab: np.ndarray) -> np.ndarray:
    """(h, w, 3) float32 Lab as filters see it."""
    return cv2.GaussianBlur(lab, (0, 0), GRAIN)


def draw_lines(lab: np.ndarray, selected: np.ndarray, line_filter: LineFilter, low: float, high: float) -> np.ndarray:
    """(h, w) bool: lines in and beside selected pixels (h, w) of a picture (h, w, 3) in Lab.

    The response of the filter is above `low` in every pixel of a line, and above `high` in at least one of them.
    """
    response = line_filter.apply(remove_grain(lab))
    zone = cv2.dilate(selected.astype(np.uint8), _make_disc(REACH)) > 0
    weak = (response > low) & zone
    n_lines, lines = cv2.connectedComponents(weak.astype(np.uint8), connectivity=8)
    is_kept = np.zeros(n_lines, dtype=bool)
    is_kept[lines[weak & selected & (response > high)]] = True
    return is_kept[lines]


def count_responses(lab: np.ndarray, chosen: np.ndarray | None = None) -> np.ndarray:
    """(n_filters, N_STEPS) int64: histogram of each filter's responses, in chosen pixels (h, w) or all."""
    smooth = remove_grain(lab)
    chosen_responses = (one if chosen is None else one[chosen] for one in apply_filters(smooth))
    return np.array([np.bincount(_count_steps(one), minlength=N_STEPS) for one in chosen_responses])


def measure_peaks(lab: np.ndarray, labels: np.ndarray, n_segments: int) -> np.ndarray:
    """(n_segments, n_filters) float32: the response that a part `PEAK_SHARE` of the pixels of each segment reaches.

    The picture is (h, w, 3) Lab, at most `LINE_SIZE` on the longer side, with segments (h, w); a segment without a
    pixel has no response.
    """
    smooth, rows = remove_grain(lab), labels.ravel().astype(np.int64) * N_STEPS
    peaks = np.empty((n_segments, len(FILTERS)), dtype=np.float32)
    for column, response in enumerate(apply_filters(smooth)):
        steps = _count_steps(response)
        counts = np.bincount(rows + steps, minlength=n_segments * N_STEPS).reshape(n_segments, N_STEPS)
        n_reached = (measure_tails(counts) >= PEAK_SHARE).sum(axis=1)
        peaks[:, column] = np.maximum(n_reached - 1, 0) / STEPS_PER_UNIT
    return peaks


def _count_steps(response: np.ndarray) -> np.ndarray:
    """Responses of any shape as whole steps, flat."""
    return (response.ravel() * STEPS_PER_UNIT).clip(0, N_STEPS - 1).astype(np.int64)


def measure_tails(counts: np.ndarray) -> np.ndarray:
    """(..., N_STEPS) share of the counted pixels whose response is at least each step; 0 where none was counted."""
    above = np.cumsum(counts[..., ::-1], axis=-1)[..., ::-1]
    return above / np.maximum(above[..., :1], 1)


@cache
def _make_disc(radius: int) -> np.ndarray:
    return cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (2 * radius + 1, 2 * radius + 1))


# Regions or lines -----------------------------------------------------------------------------------------------------


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
    return float(4 * measure_depth(mask)[mask].mean())


def measure_elongation(mask: np.ndarray) -> float:
    """Diagonal of the box around a component by its width, mean over the pixels of a mask; 0 if it is empty."""
    n_parts, parts, boxes, _ = cv2.connectedComponentsWithStats(mask.astype(np.uint8), connectivity=8)
    if n_parts == 1 or mask.all():
        return 0.0
    areas = boxes[1:, cv2.CC_STAT_AREA]
    depths = np.bincount(parts.ravel(), weights=measure_depth(mask).ravel())[1:]
    diagonals = np.hypot(boxes[1:, cv2.CC_STAT_WIDTH], boxes[1:, cv2.CC_STAT_HEIGHT])
    return float(np.average(diagonals / np.maximum(4 * depths / areas, 1), weights=areas))


def measure_depth(mask: np.ndarray) -> np.ndarray:
    """(h, w) float32 distance of each pixel of a mask to the background; the image's edge is no background."""
    framed = np.pad(mask, 1, mode="edge").astype(np.uint8)
    return cv2.distanceTransform(framed, cv2.DIST_L2, 5)[1:-1, 1:-1]


def choose_filter(negative: np.ndarray, selected: Sequence[np.ndarray]) -> tuple[LineFilter, float, float, float]:
    """The filter that finds most in selected segments, its thresholds, and the share of pixels above the higher one.

    A threshold is the lowest response that pixels of *without* images reach so much more seldom than those of selected
    segments that of the pixels above it at most a share `FALSE_SHARES` is expected on an undamaged surface.

    Responses are counts (n_filters, n_steps) of `count_responses`: of all *without* images, and of the selected
    segments of each *with* image, which have equal weight.
    """
    sound, tails = measure_tails(negative), np.mean([measure_tails(counts) for counts in selected], axis=0)
    lows, highs = (_find_lowest(sound <= share * tails) for share in FALSE_SHARES)
    shares = tails[np.arange(len(tails)), highs]
    best = int(shares.argmax())
    return FILTERS[best], lows[best] / STEPS_PER_UNIT, highs[best] / STEPS_PER_UNIT, float(shares[best])


def _find_lowest(is_rare: np.ndarray) -> list[int]:
    """(n_filters,) first step (n_filters, n_steps) that is rare on an undamaged surface; the last if none is."""
    return np.where(is_rare.any(axis=1), is_rare.argmax(axis=1), is_rare.shape[1] - 1).tolist()
