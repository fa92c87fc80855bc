"""Features of supervoxels: those of single frames, averaged over time by area.

Any extractor of images is used on frames; only sums are kept, so that a video of any length costs one row per
supervoxel. A supervoxel that lives between two sampled frames takes the mean of its neighbours.
"""

from __future__ import annotations

import numpy as np

from segvote.features.base import FeatureExtractor


class FramePooler:
    """Averages the features of single frames over a video; the extractor is fitted where it needs that."""

    def __init__(self, extractor: FeatureExtractor) -> None:
        self.extractor = extractor
        self._sums = np.zeros((0, extractor.n_dims), np.float32)
        self._areas = np.zeros(0, np.float32)

    def add(self, image: np.ndarray, labels: np.ndarray) -> None:
        """Add the features of one frame (H, W, 3) uint8, whose supervoxel numbers are (h, w) over the same picture."""
        numbers, local = np.unique(labels, return_inverse=True)
        local = local.reshape(labels.shape).astype(np.int32)
        areas = np.bincount(local.ravel()).astype(np.float32)
        features = self.extractor.extract(image, local)
        n_rows = int(numbers[-1]) + 1
        self._sums, self._areas = grow_rows(self._sums, n_rows), grow_rows(self._areas, n_rows)
        self._sums[numbers] += features * areas[:, None]
        self._areas[numbers] += areas

    def finish(self, n_supervoxels: int, edges: np.ndarray) -> np.ndarray:
        """(n_supervoxels, n_dims) float32; one that no sampled frame shows takes the mean of its neighbours (m, 2)."""
        sums, areas = grow_rows(self._sums, n_supervoxels), grow_rows(self._areas, n_supervoxels)
        means = sums / np.where(areas > 0, areas, 1)[:, None]
        return borrow_from_neighbours(means, areas > 0, edges)


def grow_rows(values: np.ndarray, n_rows: int) -> np.ndarray:
    """The array with rows of zeros appended until it has n_rows; the same array where it has them."""
    if len(values) >= n_rows:
        return values
    grown = np.zeros((n_rows, *values.shape[1:]), values.dtype)
    grown[: len(values)] = values
    return grown


def borrow_from_neighbours(values: np.ndarray, known: np.ndarray, edges: np.ndarray) -> np.ndarray:
    """Give every row that is not known the mean of its known neighbours, and so on outwards; zeros without any."""
    values, known = values.copy(), known.copy()
    both = np.concatenate([edges, edges[:, ::-1]]).astype(np.int64)
    while not known.all():
        useful = both[~known[both[:, 0]] & known[both[:, 1]]]
        if not len(useful):
            break
        receivers, seats = np.unique(useful[:, 0], return_inverse=True)
        sums = np.zeros((len(receivers), values.shape[1]), np.float64)
        np.add.at(sums, seats, values[useful[:, 1]])
        values[receivers] = sums / np.bincount(seats)[:, None]
        known[receivers] = True
    return values
