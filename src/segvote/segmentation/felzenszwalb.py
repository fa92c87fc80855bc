"""Felzenszwalb and Huttenlocher's graph segmentation (2004), with its scale searched to give the number of segments.

The method has no number of segments, only a scale; the number falls as the scale grows, roughly as a power.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from skimage.segmentation import felzenszwalb

from segvote.segmentation.colour import check_image
from segvote.segmentation.hierarchy import build_segmentation
from segvote.segmentation.labels import absorb_small, relabel_connected
from segvote.types import Segmentation

__all__ = ["segment_felzenszwalb"]

# Six BSDS photographs of 481 x 321 had 140 to 300 segments at a scale of 300, and counts fell about as scale ** -0.8.
FIRST_SCALE = 300.0
EXPECTED_SLOPE = -0.8
CLOSE_ENOUGH = math.log(1.1)


def segment_felzenszwalb(
    image: np.ndarray,
    n_segments: int = 200,
    *,
    scale: float | None = None,
    sigma: float = 0.8,
    min_size: int = 20,
    n_tries: int = 4,
) -> Segmentation:
    """Segment an image by growing regions whose inner contrast exceeds that of their boundary.

    Parameters
    ----------
    image
        (h, w, 3) uint8 RGB at working size.
    n_segments
        The most segments: where the best scale found gives more, the most alike are merged by Ward's rule.
    scale
        Felzenszwalb's k; None searches it.
    sigma
        Width in pixels of the Gaussian applied first.
    min_size
        Smaller components are merged with a neighbour.
    n_tries
        How many scales the search may try; each costs one segmentation.

    Returns
    -------
    Segmentation with the Ward tree of its segments.
    """
    image = check_image(image, n_segments)

    def grow(scale: float) -> np.ndarray:
        return felzenszwalb(image, scale, sigma, min_size, channel_axis=-1)

    labels = search_scale(grow, n_segments, n_tries) if scale is None else grow(scale)
    # Its graph has diagonal edges: pieces that hang on by a corner come loose, and are joined to what surrounds them.
    return build_segmentation(image, absorb_small(relabel_connected(labels), min_size), n_segments)


def search_scale(grow: Callable[[float], np.ndarray], n_segments: int, n_tries: int) -> np.ndarray:
    """Labels of the scale whose count came closest to n_segments: a secant search of count against scale, both as logs."""
    wanted, position, slope = math.log(n_segments), math.log(FIRST_SCALE), EXPECTED_SLOPE
    tries: list[tuple[float, float, np.ndarray]] = []  # log scale, log count, labels
    for _ in range(n_tries):
        labels = grow(math.exp(position))
        tries.append((position, math.log(labels.max() + 1), labels))
        if abs(tries[-1][1] - wanted) < CLOSE_ENOUGH:
            break
        slope = estimate_slope(tries, slope)
        position += (wanted - tries[-1][1]) / slope
    return min(tries, key=lambda found: abs(found[1] - wanted))[2]


def estimate_slope(tries: list[tuple[float, float, np.ndarray]], slope: float) -> float:
    """Slope of log count against log scale between the last two tries, kept where it cannot throw the search away."""
    if len(tries) < 2:
        return slope
    (old_scale, old_count, _), (new_scale, new_count, _) = tries[-2:]
    if new_scale == old_scale:
        return slope
    return min(max((new_count - old_count) / (new_scale - old_scale), -1.5), -0.4)
