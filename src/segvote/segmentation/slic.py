"""SLIC superpixels (Achanta 2012): k-means of colour and place, for those who want compact segments of even size."""

from __future__ import annotations

import numpy as np

from segvote.segmentation.colour import check_image
from segvote.segmentation.hierarchy import build_segmentation
from segvote.segmentation.labels import relabel_connected
from segvote.types import Segmentation

# On BSDS photographs about a third of the grid's seeds come to nothing, so that many more are asked for.
ASKED_FOR_ONE = 1.4


def segment_slic(
    image: np.ndarray, n_segments: int = 200, *, compactness: float = 10.0, sigma: float = 0.0, n_rounds: int = 10
) -> Segmentation:
    """Segment an image into about n_segments compact superpixels.

    Parameters
    ----------
    image
        (h, w, 3) uint8 RGB at working size.
    n_segments
        The most segments; SLIC's grid gives somewhat fewer.
    compactness
        How much place counts against colour: larger means squarer segments.
    sigma
        Width in pixels of a Gaussian applied first.
    n_rounds
        Rounds of k-means.

    Returns
    -------
    Segmentation with the Ward tree of its superpixels.
    """
    from skimage.segmentation import slic  # slow to import: clips, which take a constant from here, do without it

    image = check_image(image, n_segments)
    labels = slic(
        image,
        round(n_segments * ASKED_FOR_ONE),
        compactness=compactness,
        sigma=sigma,
        max_num_iter=n_rounds,
        start_label=0,
        channel_axis=-1,
    )
    return build_segmentation(image, relabel_connected(labels), n_segments)
