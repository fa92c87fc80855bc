"""From decided segments to the mask of one image: sharpened along the picture's edges, at the displayed size."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from segvote.kernels.resizing import resize_labels
from segvote.masks.sharpen import Pieces, sharpen

__all__ = ["CutImage", "draw_mask_along"]


@dataclass(frozen=True)
class CutImage:
    """An image in pieces.

    Attributes
    ----------
    labels
        (h, w) number of each pixel's piece, at working size.
    pieces
        What is known of each.
    """

    labels: np.ndarray
    pieces: Pieces


def draw_mask_along(
    cut: CutImage | None,
    labels: np.ndarray,
    heat: np.ndarray,
    decisions: np.ndarray,
    fixed: np.ndarray,
    shape: tuple[int, int],
) -> np.ndarray:
    """As `draw_mask`, with the image cut into pieces already (None: whole segments) and its displayed size."""
    if not decisions.any():
        return np.zeros(shape, dtype=bool)
    if cut is None:
        return resize_labels(decisions.take(labels), shape)
    warmth = np.bincount(cut.labels.ravel(), weights=heat.take(labels).ravel()) / cut.pieces.areas
    mask = sharpen(cut.pieces, warmth).take(cut.labels)
    if (fixed >= 0).any():
        # A user label of a segment holds to the pixel.
        mask = np.where(fixed[labels] >= 0, fixed[labels] == 1, mask)
    return resize_labels(mask, shape)
