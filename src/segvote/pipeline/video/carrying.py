"""Maps of key frames carried to the frames between them along the optical flow.

Each pixel of a frame is followed to its place in a key frame, and its value is looked up there once, which avoids blur.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise

import cv2
import numpy as np

SMALLEST_SIDE = 32  # below this the flow's pyramid has no level to start from
# Difference of grey values, of 255, between a pixel and its place in the next frame, at which trust has fallen to .6.
GREY_WIDTH = 20.0
LEAST_TRUST = 1e-3  # of the flow from one frame to the next, so that every pixel has a value
TRUST = (np.exp(-((np.arange(256) / GREY_WIDTH) ** 2) / 2) + LEAST_TRUST).astype(np.float32)  # by difference


@dataclass(frozen=True)
class Track:
    """Where the pixels of a frame lie in another frame."""

    places: np.ndarray  # (h, w, 2) float32, x and y there
    trust: np.ndarray  # (h, w) float32, about 0 to 1: similarity of the pixel to those along the flow

    def join(self, rest: Track) -> Track:
        """The track that goes on where this one ends."""
        return Track(look_up(rest.places, self.places), self.trust * look_up(rest.trust, self.places))

    def carry(self, values: np.ndarray) -> np.ndarray:
        """(h, w) values of the other frame at the pixels of this one, each that of the nearest pixel."""
        return look_up(values, self.places, cv2.INTER_NEAREST)


def follow(image: np.ndarray, other: np.ndarray) -> Track:
    """Track from an image (h, w, 3) uint8 RGB to the frame before or after it."""
    height, width = image.shape[:2]
    grid = np.stack(np.meshgrid(np.arange(width), np.arange(height)), axis=-1).astype(np.float32)
    places = grid + measure_flow(image, other)
    red, green, blue = cv2.split(cv2.absdiff(image, look_up(other, places)))
    return Track(places, TRUST[cv2.max(cv2.max(red, green), blue)])


def follow_between(images: Sequence[np.ndarray]) -> tuple[list[Track], list[Track], list[Track]]:
    """Tracks of frames between two key frames, which are the first and the last of the images (h, w, 3).

    Returns those of all images but the first to the image before; those of the frames between to the first image, and
    to the last.
    """
    steps = [follow(image, before) for before, image in pairwise(images)]
    earlier = list(accumulate(steps[:-1], lambda track, step: step.join(track)))
    behind = [follow(image, after) for image, after in zip(images[-2:0:-1], images[:1:-1], strict=True)]
    return steps, earlier, list(accumulate(behind, lambda track, step: step.join(track)))[::-1]


def measure_flow(image: np.ndarray, other: np.ndarray) -> np.ndarray:
    """(h, w, 2) float32: how far each pixel is from its place in the other frame, x and y (DIS flow, Kroeger 2016).

    Frames (h, w, 3) uint8 RGB; zero for those too small to have a flow.
    """
    if min(image.shape[:2]) < SMALLEST_SIDE:
        return np.zeros((*image.shape[:2], 2), np.float32)
    grey, grey_other = (cv2.cvtColor(frame, cv2.COLOR_RGB2GRAY) for frame in (image, other))
    # The flow starts from its neighbours within the stripe of a thread: other numbers of threads give other results.
    n_threads = cv2.getNumThreads()
    cv2.setNumThreads(1)
    try:
        return cv2.DISOpticalFlow.create(cv2.DISOPTICAL_FLOW_PRESET_FAST).calc(grey, grey_other, None)  # type: ignore[call-overload]
    finally:
        cv2.setNumThreads(n_threads)


def look_up(values: np.ndarray, places: np.ndarray, interpolation: int = cv2.INTER_LINEAR) -> np.ndarray:
    """(h, w) or (h, w, c) values at places (h, w, 2); those beyond the border have the border's."""
    return cv2.remap(values, places, None, interpolation, borderMode=cv2.BORDER_REPLICATE)  # type: ignore[call-overload]


def is_nearer(earlier: Track, later: Track, share: float) -> bool:
    """Whether a frame is nearer to the key frame before it than to the one after it, by trust and time.

    `share` is how far it lies from the one to the other, in (0, 1). Over a cut the flow is not trusted.
    """
    return bool((1 - share) * earlier.trust.mean() >= share * later.trust.mean())


def blend(earlier: Track, later: Track, before: np.ndarray, after: np.ndarray, share: float) -> np.ndarray:
    """(h, w) float32 values of a frame: mean of the key frames before and after it, weighted by trust and time.

    Tracks lead from the frame to each of the two; `share` is how far it lies from the one to the other, in (0, 1).
    """
    first, second = (1 - share) * earlier.trust, share * later.trust
    return (first * earlier.carry(before) + second * later.carry(after)) / (first + second)


def measure_flicker(mask: np.ndarray, carried: np.ndarray) -> float:
    """Share of a mask (h, w) bool that differs from the one of the frame before carried along the flow.

    Pixels in which they differ, in areas of both together; 0 where both are empty.
    """
    union = np.count_nonzero(mask | carried)
    return np.count_nonzero(mask != carried) / union if union else 0.0
