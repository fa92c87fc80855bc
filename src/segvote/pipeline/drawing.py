"""From decided segments to the mask of one image: sharpened along the picture's edges, at the displayed size."""

from __future__ import annotations

import numpy as np

from segvote.io.images import resize_image, resize_labels
from segvote.refine import Pieces, sharpen
from segvote.segmentation.colour import convert_to_lab
from segvote.segmentation.labels import find_neighbours, measure_areas
from segvote.segmentation.ward import segment_ward

__all__ = ["draw_mask"]


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
    mask = decisions[labels]
    if n_pieces and decisions.any():
        mask = _redraw(resize_image(image, max(labels.shape)), labels, heat, n_pieces)
        # A person's word about a segment stands to the pixel.
        mask = np.where(fixed[labels] >= 0, fixed[labels] == 1, mask)
    return resize_labels(mask, image.shape[:2])  # type: ignore[arg-type]


def _redraw(working: np.ndarray, labels: np.ndarray, heat: np.ndarray, n_pieces: int) -> np.ndarray:
    pieces = segment_ward(working, n_segments=n_pieces).labels
    areas = measure_areas(pieces)
    shared = find_neighbours(pieces).tocoo()
    once = shared.row < shared.col
    measured = Pieces(
        areas=areas.astype(np.float64),
        colours=_average(convert_to_lab(working), pieces, areas),
        edges=np.column_stack([shared.row[once], shared.col[once]]),
        lengths=shared.data[once],
        segments=_find_majority(pieces, labels),
    )
    warmth = np.bincount(pieces.ravel(), weights=heat[labels].ravel()) / areas
    return sharpen(measured, warmth)[pieces]


def _average(values: np.ndarray, pieces: np.ndarray, areas: np.ndarray) -> np.ndarray:
    sums = [np.bincount(pieces.ravel(), weights=values[..., channel].ravel()) for channel in range(values.shape[-1])]
    return np.column_stack(sums) / areas[:, None]


def _find_majority(pieces: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """The segment that covers most of each piece."""
    n_segments = int(labels.max()) + 1
    pairs, counts = np.unique(pieces.ravel().astype(np.int64) * n_segments + labels.ravel(), return_counts=True)
    order = np.lexsort((counts, pairs // n_segments))
    last = np.flatnonzero(np.diff(np.append(pairs[order] // n_segments, -1)))
    return (pairs[order] % n_segments)[last]
