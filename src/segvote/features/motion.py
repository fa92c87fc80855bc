"""How supervoxels move: histograms of oriented optical flow, as in CRANE's setting, and how much they stand out.

The flow that comes in is free of the camera's own motion. Sums are gathered frame by frame.
"""

from __future__ import annotations

import numpy as np

from segvote.features.video_pooling import grow_rows

N_DIRECTIONS = 8
N_MOTION_DIMS = N_DIRECTIONS + 1  # the last one: pixels that stand still
STILL = 0.5  # pixels per frame, below which a direction is noise
# A frame's own noise and parallax: motion counts as distinct when it is well above what the frame's median pixel does.
NOISE_IN_MEDIAN = 2.0


class MotionPooler:
    """Gathers the motion of the supervoxels of a video."""

    def __init__(self) -> None:
        self._histograms = np.zeros((0, N_MOTION_DIMS))
        self._distinct = np.zeros(0)
        self._areas = np.zeros(0)

    def add(self, flow: np.ndarray, labels: np.ndarray) -> None:
        """Count one frame: flow (h, w, 2) in pixels, the camera's motion taken out, and supervoxel numbers (h, w)."""
        flat, n_rows = labels.ravel(), int(labels.max()) + 1
        self._histograms = grow_rows(self._histograms, n_rows)
        self._distinct, self._areas = grow_rows(self._distinct, n_rows), grow_rows(self._areas, n_rows)
        lengths = np.hypot(flow[..., 0], flow[..., 1])
        places = flat.astype(np.int64) * N_MOTION_DIMS + choose_bins(flow, lengths).ravel()
        counts = np.bincount(places, minlength=n_rows * N_MOTION_DIMS).reshape(n_rows, N_MOTION_DIMS)
        self._histograms[:n_rows] += counts
        self._areas[:n_rows] += counts.sum(axis=1)
        self._distinct[:n_rows] += np.bincount(flat, measure_distinct(lengths).ravel(), minlength=n_rows)

    def extract(self, n_supervoxels: int) -> np.ndarray:
        """(n_supervoxels, N_MOTION_DIMS) float32: shares of its pixels that move in each direction, or stand still."""
        histograms = grow_rows(self._histograms, n_supervoxels)
        return (histograms / np.maximum(histograms.sum(axis=1, keepdims=True), 1)).astype(np.float32)

    def measure_distinct(self, n_supervoxels: int) -> np.ndarray:
        """(n_supervoxels,) float32 in [0, 1]: how far it moves against its surroundings, 0 with the ground."""
        areas = grow_rows(self._areas, n_supervoxels)
        return (grow_rows(self._distinct, n_supervoxels) / np.maximum(areas, 1)).astype(np.float32)


def choose_bins(flow: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """(h, w) int: direction 0 .. 7 of each pixel's motion, 8 where it stands still."""
    angles = np.arctan2(flow[..., 1], flow[..., 0])
    directions = np.floor((angles + np.pi) / (2 * np.pi) * N_DIRECTIONS).astype(np.int64) % N_DIRECTIONS
    return np.where(lengths < STILL, N_DIRECTIONS, directions)


def measure_distinct(lengths: np.ndarray) -> np.ndarray:
    """(h, w) in [0, 1): 0 for a pixel that follows the ground, towards 1 for one that moves by itself."""
    unit = max(NOISE_IN_MEDIAN * float(np.median(lengths)), STILL)
    return lengths**2 / (lengths**2 + unit**2)
