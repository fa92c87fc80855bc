"""From decided segments to the mask of one image: sharpened along the picture's edges, at the displayed size."""

from __future__ import annotations

import numpy as np

from segvote.io.images import resize_image, resize_labels
from segvote.pipeline.pieces import CutImage, cut_image
from segvote.refine import sharpen

__all__ = ["draw_mask", "draw_mask_along"]


def draw_mask(
    image: np.ndarray, labels: np.ndarray, heat: np.ndarray, decisions: np.ndarray, fixed: np.ndarray, n_pieces: int
) -> np.ndarray:
    """Mask of an image at its own size.

    Parameters
    ----------
    image
        (H, W, 3) uint8 as displayed.
    labels
        (h, w) label map at working size.
    heat, decisions, fixed
        (n_segments,) heat in [0, 1]; bool; -1 where no person said 0 or 1.
    n_pieces
        How many small pieces to redraw along; 0: the decided segments as they are.
    """
    cut = None
    if n_pieces and decisions.any():
        cut = cut_image(resize_image(image, max(labels.shape)), labels, n_pieces)
    return draw_mask_along(cut, labels, heat, decisions, fixed, image.shape[:2])  # type: ignore[arg-type]


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
        # A person's word about a segment stands to the pixel.
        mask = np.where(fixed[labels] >= 0, fixed[labels] == 1, mask)
    return resize_labels(mask, shape)
