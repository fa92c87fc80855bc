"""Maps of key frames carried to the frames between them along the optical flow.

Each pixel of a frame is followed back to its place in a key frame, so that what is known there is looked up once,
however many frames lie between: values do not blur on the way.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Self

import cv2
import numpy as np

from segvote.segmentation.flow import measure_flow

# Difference of grey values, of 255, between a pixel and where the flow leads, at which the flow is trusted little.
GREY_WIDTH = 20.0
LEAST_TRUST = 1e-3  # of the flow from one frame to the next, so that every pixel has an answer


@dataclass(frozen=True)
class Track:
    """Where the pixels of a frame lie in a key frame.

    Attributes
    ----------
    image : (h, w, 3) uint8
        The frame.
    places : (h, w, 2) float32
        x and y in the key frame.
    trust : (h, w) float32
        In (0, 1]: how well the pixel looks like those that the flow led through.
    """

    image: np.ndarray
    places: np.ndarray
    trust: np.ndarray

    @classmethod
    def start(cls, image: np.ndarray) -> Self:
        """The key frame itself."""
        height, width = image.shape[:2]
        return cls(image, make_grid(height, width), np.ones((height, width), np.float32))

    def follow(self, image: np.ndarray, flow: np.ndarray | None = None) -> Track:
        """The next frame, before or after in time; `flow` (h, w, 2) to this one, where it is known."""
        height, width = image.shape[:2]
        flow = measure_flow(image, self.image) if flow is None else flow
        origin = make_grid(height, width) + flow
        places, trust = look_up(self.places, origin), look_up(self.trust, origin)
        return Track(image, places, trust * _measure_trust(image, look_up(self.image, origin)))

    def carry(self, values: np.ndarray) -> np.ndarray:
        """(h, w) values of the key frame at the pixels of this frame, each that of the nearest pixel."""
        return look_up(values, self.places, cv2.INTER_NEAREST)


def make_grid(height: int, width: int) -> np.ndarray:
    """(h, w, 2) float32 x and y of every pixel."""
    return np.stack(np.meshgrid(np.arange(width), np.arange(height)), axis=-1).astype(np.float32)


def look_up(values: np.ndarray, places: np.ndarray, interpolation: int = cv2.INTER_LINEAR) -> np.ndarray:
    """(h, w) or (h, w, c) values at places (h, w, 2); those beyond the border have the border's."""
    return cv2.remap(values, places, None, interpolation, borderMode=cv2.BORDER_REPLICATE)  # type: ignore[call-overload, no-any-return]


def _measure_trust(image: np.ndarray, before: np.ndarray) -> np.ndarray:
    gap = cv2.absdiff(image, before).max(axis=2).astype(np.float32)
    return np.exp(-((gap / GREY_WIDTH) ** 2) / 2) + np.float32(LEAST_TRUST)  # type: ignore[no-any-return]


def track_between(images: Sequence[np.ndarray]) -> Iterator[tuple[Track, Track]]:
    """Tracks of the frames between the first and the last of some images (h, w, 3), from each of these two."""
    later = [Track.start(images[-1])]
    for image in images[-2:0:-1]:
        later.append(later[-1].follow(image))
    earlier = Track.start(images[0])
    for number, image in enumerate(images[1:-1], start=1):
        earlier = earlier.follow(image)
        yield earlier, later[-number]


def is_nearer(earlier: Track, later: Track, share: float) -> bool:
    """Whether a frame is nearer to the key frame before it than to the one after it, by trust and time.

    `share` is how far it lies from the one to the other, in (0, 1). Over a cut the flow is not trusted.
    """
    return bool((1 - share) * earlier.trust.mean() >= share * later.trust.mean())


def blend(earlier: Track, later: Track, before: np.ndarray, after: np.ndarray, share: float) -> np.ndarray:
    """(h, w) float32 values of a frame from those of the key frames before and after it, by trust and nearness in time.

    Parameters
    ----------
    earlier, later : Track
        Of the frame, from each of the two.
    before, after : (h, w) float32
        Values of the two.
    share : float
        How far the frame lies from the one to the other, in (0, 1).
    """
    weights = (1 - share) * earlier.trust, share * later.trust
    return (weights[0] * earlier.carry(before) + weights[1] * later.carry(after)) / sum(weights)  # type: ignore[no-any-return]


def smooth_heat(heat: np.ndarray, mask: np.ndarray, track: Track, steadiness: float) -> np.ndarray:
    """(h, w) float32 heat drawn towards the mask of the frame before, as far as the flow from there is trusted.

    Parameters
    ----------
    heat : (h, w) float32
        Of the frame, in [0, 1].
    mask : (h, w) bool
        Of the frame before.
    track : Track
        Of the frame, from the frame before.
    steadiness : float
        Weight of the mask where trust is one, in [0, 1).
    """
    weights = steadiness * track.trust
    return (1 - weights) * heat + weights * track.carry(mask.astype(np.float32))  # type: ignore[no-any-return]


def measure_flicker(mask: np.ndarray, before: np.ndarray, flow: np.ndarray) -> float:
    """Share of a mask that changed since the frame before although the flow does not explain it.

    Parameters
    ----------
    mask, before : (h, w) bool
        Of the frame, and of the one before it.
    flow : (h, w, 2)
        Where each pixel was in the frame before.

    Returns
    -------
    float
        Pixels in which the mask differs from the one carried along, in areas of both together; 0 where both are empty.
    """
    carried = look_up(before.astype(np.uint8), make_grid(*mask.shape) + flow, cv2.INTER_NEAREST) > 0
    union = np.count_nonzero(mask | carried)
    return np.count_nonzero(mask != carried) / union if union else 0.0
