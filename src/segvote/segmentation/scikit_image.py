"""Segmenters of scikit-image, which takes a third of a second to import: Felzenszwalb's and SLIC."""

from __future__ import annotations

import numpy as np
from skimage.segmentation import felzenszwalb, slic

from segvote.segmentation.hierarchy import build_segmentation
from segvote.segmentation.labels import absorb_small, check_image, relabel_connected
from segvote.types import Segmentation

# On BSDS photographs a mean segment is about four times the smallest; five leaves a few too many, which are merged.
SMALLEST_IN_MEAN = 5
SCALE, SIGMA = 20.0, 0.8  # Felzenszwalb's k, and the width in pixels of the Gaussian applied first
# On BSDS photographs about a third of the grid's seeds come to nothing, so that many more are asked for.
ASKED_FOR_ONE = 1.4


def segment_felzenszwalb(image: np.ndarray, n_segments: int = 200) -> Segmentation:
    """Segment an image by growing regions until their boundary shows more contrast than their inside (2004).

    The method has no number of segments, only a scale and a smallest size. A large scale leaves a few huge regions and
    many specks; a small scale with a large smallest size gives an even over-segmentation, whose number is known in
    advance. Where more than n_segments come out, the most similar are merged by Ward's rule.
    """
    image = check_image(image, n_segments)
    smallest = image.shape[0] * image.shape[1] // (SMALLEST_IN_MEAN * n_segments)
    labels = felzenszwalb(image, SCALE, SIGMA, smallest, channel_axis=-1)
    # Its graph has diagonal edges: regions joined by a corner alone come apart and are absorbed.
    return build_segmentation(image, absorb_small(relabel_connected(labels), smallest), n_segments)


def segment_slic(image: np.ndarray, n_segments: int = 200) -> Segmentation:
    """Segment an image into compact superpixels, fewer than n_segments, by k-means of colour and place (2012)."""
    image = check_image(image, n_segments)
    labels = slic(image, round(n_segments * ASKED_FOR_ONE), start_label=0, channel_axis=-1)
    return build_segmentation(image, relabel_connected(labels), n_segments)
