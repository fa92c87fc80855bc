"""From the scores of segments to the heat map and the mask of one image, sharpened along the picture's edges."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from segvote.kernels.resizing import resize_labels
from segvote.masks.sharpen import Superpixels, sharpen


def scale_heat(scores: np.ndarray, threshold: float, low: float, high: float) -> np.ndarray:
    """Bring scores to [0, 1]: `low` and less become 0, `threshold` one half, `high` and more 1."""
    above = 0.5 + 0.5 * (scores - threshold) / max(high - threshold, 1e-12)
    below = 0.5 * (scores - low) / max(threshold - low, 1e-12)
    return np.clip(np.where(scores > threshold, above, below), 0.0, 1.0)


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
    """(h, w) bool at the displayed size: decided segments, redrawn along superpixels (None: whole segments)."""
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
