"""From decided segments to the mask of one image: sharpened along the picture's edges, at the displayed size."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from segvote.kernels.resizing import resize_labels
from segvote.masks.sharpen import Superpixels, sharpen

__all__ = ["SuperpixelMap", "draw_mask_along"]


@dataclass(frozen=True)
class SuperpixelMap:
    """The superpixels of an image: (h, w) number of each pixel's, at working size, and what is known of each."""

    labels: np.ndarray
    superpixels: Superpixels


def draw_mask_along(
    found: SuperpixelMap | None,
    labels: np.ndarray,
    heat: np.ndarray,
    decisions: np.ndarray,
    fixed: np.ndarray,
    shape: tuple[int, int],
) -> np.ndarray:
    """As `draw_mask`, with the superpixels of the image (None: whole segments) and its displayed size."""
    if not decisions.any():
        return np.zeros(shape, dtype=bool)
    if found is None:
        return resize_labels(decisions.take(labels), shape)
    warmth = np.bincount(found.labels.ravel(), weights=heat.take(labels).ravel()) / found.superpixels.areas
    mask = sharpen(found.superpixels, warmth).take(found.labels)
    if (fixed >= 0).any():
        # A user label of a segment holds to the pixel.
        mask = np.where(fixed[labels] >= 0, fixed[labels] == 1, mask)
    return resize_labels(mask, shape)
