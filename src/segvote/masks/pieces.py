"""Connected pieces of a mask: specks are removed and pinholes filled, by the sizes of the pieces of the whole run.

A piece is a speck if it is far smaller than the largest piece of its image and than the typical piece of the run. The
run's piece keeps small objects beside a large one; the image's keeps the mask of an image whose objects are all small.
"""

from __future__ import annotations

import cv2
import numpy as np

# A piece, or a hole, is left out below this share of the typical piece of the run, or of the largest of its image.
SPECK_SHARE = 0.02


def measure_pieces(mask: np.ndarray) -> np.ndarray:
    """(n,) areas of the 8-connected pieces of a mask (h, w) bool, as shares of the image."""
    _, _, boxes, _ = cv2.connectedComponentsWithStats(mask.astype(np.uint8), connectivity=8)
    return boxes[1:, cv2.CC_STAT_AREA] / mask.size


def find_typical(shares: np.ndarray) -> float:
    """The area-weighted median of pieces (n,): half of the object lies in pieces of at most this size; 0 for none."""
    if not len(shares):
        return 0.0
    ascending = np.sort(shares)
    summed = np.cumsum(ascending)
    return float(ascending[np.searchsorted(summed, summed[-1] / 2)])


def remove_specks(mask: np.ndarray, typical: float, share: float = SPECK_SHARE) -> np.ndarray:
    """A mask (h, w) bool without specks and pinholes; `typical` is the run's, as a share of the image, 0: no change."""
    _, pieces, boxes, _ = cv2.connectedComponentsWithStats(mask.astype(np.uint8), connectivity=8)
    areas = boxes[:, cv2.CC_STAT_AREA]
    limit = share * min(typical * mask.size, areas[1:].max(initial=0))
    is_kept = areas >= limit
    is_kept[0] = False
    return fill_holes(is_kept[pieces], limit)


def fill_holes(mask: np.ndarray, limit: float) -> np.ndarray:
    """A mask (h, w) bool with its holes of fewer than `limit` pixels filled; a gap on the image's edge is no hole."""
    _, gaps, boxes, _ = cv2.connectedComponentsWithStats((~mask).astype(np.uint8), connectivity=4)
    left, top, width, height, areas = boxes.T
    on_edge = (left == 0) | (top == 0) | (left + width == mask.shape[1]) | (top + height == mask.shape[0])
    is_filled = ~on_edge & (areas < limit)
    is_filled[0] = False
    return mask | is_filled[gaps]
