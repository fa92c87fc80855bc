"""From the cells of a small feature map to segments, by exact areas; and images at the size that a network sees.

A network's map is much coarser than the label map. Instead of resizing hundreds of channels, the area that each segment
shares with each cell is computed once; pooling is then a sparse product. Positions are fractions of the picture, so
that label map and feature map may have any sizes.
"""

from __future__ import annotations

import cv2
import numpy as np
from scipy import sparse

from segvote.registry import check_known

LARGEST_TABLE = 4_000_000  # segments times cells: 32 MB


def make_edges(n_cells: int, shift: float = 0.0) -> np.ndarray:
    """(n_cells + 1,) float64: borders of equal cells in [0, 1].

    The cells' receptive fields lie `shift` cells towards the end. The outer borders stay at 0 and 1: the first cell
    grows, the last one shrinks.
    """
    edges = np.clip((np.arange(n_cells + 1) + shift) / n_cells, 0.0, 1.0)
    edges[0], edges[-1] = 0.0, 1.0
    return edges


def measure_overlaps(labels: np.ndarray, row_edges: np.ndarray, column_edges: np.ndarray) -> sparse.csr_array:
    """(n_segments, map_h * map_w) float32: area that each segment shares with each cell, in pixels of the label map.

    `labels` are (h, w), the borders of the cells (map_h + 1,) and (map_w + 1,), from 0 to 1.
    """
    rows, cell_rows, heights = _cut_pixels(labels.shape[0], row_edges)
    columns, cell_columns, widths = _cut_pixels(labels.shape[1], column_edges)
    n_segments, n_columns = int(labels.max()) + 1, len(column_edges) - 1
    n_cells = (len(row_edges) - 1) * n_columns
    keys = (labels[rows][:, columns] * np.int64(n_cells) + (cell_rows[:, None] * n_columns + cell_columns)).ravel()
    areas = (heights[:, None] * widths).ravel()
    if n_segments * n_cells > LARGEST_TABLE:
        pairs, places = np.unique(keys, return_inverse=True)
        sums = np.bincount(places, areas)
    else:  # twice as fast as sorting the keys
        table = np.bincount(keys, areas, n_segments * n_cells)
        pairs = np.flatnonzero(table != 0)
        sums = table[pairs]
    starts = np.searchsorted(pairs, np.arange(n_segments + 1) * n_cells)
    return sparse.csr_array((sums.astype(np.float32), pairs % n_cells, starts), shape=(n_segments, n_cells))


def _cut_pixels(n_pixels: int, edges: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Cut a row of pixels at the borders of the cells: pixel, cell and length of each piece."""
    cuts = np.union1d(np.arange(n_pixels + 1, dtype=np.float64), edges * n_pixels)
    lengths = np.diff(cuts)
    middles = cuts[:-1] + lengths / 2
    pixels = np.minimum(middles.astype(np.int32), n_pixels - 1)
    cells = np.searchsorted(edges * n_pixels, middles, side="right").astype(np.int32) - 1
    return pixels, np.clip(cells, 0, len(edges) - 2), lengths.astype(np.float32)


def pool_mean(values: np.ndarray, overlaps: sparse.csr_array) -> np.ndarray:
    """(n_segments, n_channels) float32: mean over the cells of each segment, weighted by area.

    `values` are (n_cells, n_channels), `overlaps` those of `measure_overlaps`. A segment without area gets zeros.
    """
    areas = overlaps.sum(axis=1)
    sums = overlaps @ values
    return (sums / np.where(areas > 0, areas, 1)[:, None]).astype(np.float32)


def pool_max(values: np.ndarray, overlaps: sparse.csr_array) -> np.ndarray:
    """Take the greatest value among the cells that each segment touches; shapes as in `pool_mean`."""
    pooled = np.zeros((overlaps.shape[0], values.shape[1]), np.float32)
    filled = np.diff(overlaps.indptr) > 0
    if filled.any():
        pooled[filled] = np.maximum.reduceat(values[overlaps.indices], overlaps.indptr[:-1][filled], axis=0)
    return pooled


POOLINGS = {"max": pool_max, "mean": pool_mean}


def check_pooling(pooling: str) -> str:
    """Return the name of a pooling if it is known."""
    return check_known(pooling, POOLINGS, "pooling")


def choose_sides(height: int, width: int, size: int, multiple: int) -> tuple[int, int]:
    """Choose the input's sides: the longest about `size`, the aspect kept, each a multiple of `multiple`."""
    scale = size / max(height, width) / multiple
    return max(1, round(height * scale)) * multiple, max(1, round(width * scale)) * multiple


def resize_image(image: np.ndarray, height: int, width: int) -> np.ndarray:
    """Resize an image; averages when it shrinks, so that fine patterns do not turn into false ones."""
    if image.shape[:2] == (height, width):
        return image
    shrinks = height * width < image.shape[0] * image.shape[1]
    return cv2.resize(image, (width, height), interpolation=cv2.INTER_AREA if shrinks else cv2.INTER_LINEAR)
