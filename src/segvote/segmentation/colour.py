"""What segmenters ask of an image before they look at it: that it is RGB bytes, and its Lab colours."""

from __future__ import annotations

import numpy as np

from segvote.errors import BadInputError
from segvote.kernels.pixels import convert_to_lab, measure_gradient, smooth_colour

__all__ = ["check_image", "convert_to_lab", "measure_gradient", "smooth_colour"]


def check_image(image: np.ndarray, n_segments: int = 1) -> np.ndarray:
    """The image (h, w, 3) uint8 as a contiguous array, or what is wrong with it or with the number of segments."""
    image = np.asarray(image)
    if image.ndim != 3 or image.shape[2] != 3 or image.dtype != np.uint8 or image.size == 0:
        raise BadInputError(
            f"a segmenter wants (h, w, 3) uint8 RGB, got {image.dtype} of shape {image.shape}; convert it first"
        )
    if n_segments < 1:
        raise BadInputError(f"n_segments must be at least 1, got {n_segments}; ask for one segment or more")
    return np.ascontiguousarray(image)
