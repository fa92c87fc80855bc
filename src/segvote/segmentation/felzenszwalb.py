"""Felzenszwalb and Huttenlocher's graph segmentation (2004), its smallest size set to give the number of segments.

The method has no number of segments, only a scale and a smallest size. A large scale leaves a few huge regions and many
specks; a small scale with a large smallest size gives an even over-segmentation, whose number is known in advance.
"""

from __future__ import annotations

import numpy as np
from skimage.segmentation import felzenszwalb

from segvote.segmentation.colour import check_image
from segvote.segmentation.hierarchy import build_segmentation
from segvote.segmentation.labels import absorb_small, relabel_connected
from segvote.types import Segmentation

# On BSDS photographs a mean segment is about four times the smallest; five leaves a few too many, which are merged.
SMALLEST_IN_MEAN = 5


def segment_felzenszwalb(
    image: np.ndarray, n_segments: int = 200, *, scale: float = 20.0, sigma: float = 0.8, min_size: int | None = None
) -> Segmentation:
    """Segment an image by growing regions until their boundary shows more contrast than their inside.

    Parameters
    ----------
    image
        (h, w, 3) uint8 RGB at working size.
    n_segments
        The most segments: where more come out, the most alike are merged by Ward's rule.
    scale
        Felzenszwalb's k: larger means larger regions where contrast is low.
    sigma
        Width in pixels of the Gaussian applied first.
    min_size
        Smaller components are merged with a neighbour; None takes a fifth of the mean size wanted.

    Returns
    -------
    Segmentation with the Ward tree of its segments.
    """
    image = check_image(image, n_segments)
    n_pixels = image.shape[0] * image.shape[1]
    smallest = n_pixels // (SMALLEST_IN_MEAN * n_segments) if min_size is None else min_size
    labels = felzenszwalb(image, scale, sigma, smallest, channel_axis=-1)
    # Its graph has diagonal edges: pieces that hang on by a corner come loose, and are joined to what surrounds them.
    return build_segmentation(image, absorb_small(relabel_connected(labels), smallest), n_segments)
