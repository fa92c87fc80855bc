"""What later steps ask of supervoxels, gathered frame by frame: areas, border, space-time neighbours, lengths."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from segvote.segmentation.labels import list_faces, measure_border
from segvote.segmentation.supervoxels import SupervoxelFrame


@dataclass(frozen=True)
class Tally:
    """Geometry of the supervoxels of a video.

    Attributes
    ----------
    areas, border
        (n,) int64 pixels and float64 pixel faces on the border of the frames, over all frames.
    first_frames, last_frames
        (n,) int64: where each one is seen first and last.
    n_frames, n_border_frames
        (n,) int64: in how many frames it is seen, and in how many of them it touches the border.
    edges, lengths
        (m, 2) int32 neighbours, each pair once, low number first; (m,) int64 pixel faces they share within frames, plus
        pixels that the flow leads from one to the other.
    """

    areas: np.ndarray
    border: np.ndarray
    first_frames: np.ndarray
    last_frames: np.ndarray
    n_frames: np.ndarray
    n_border_frames: np.ndarray
    edges: np.ndarray
    lengths: np.ndarray


class SupervoxelTally:
    """Takes `SupervoxelFrame`s one by one; only their sums are kept."""

    def __init__(self) -> None:
        self._areas, self._border = np.zeros(0, np.int64), np.zeros(0)
        self._first, self._last = np.zeros(0, np.int64), np.zeros(0, np.int64)
        self._seen, self._touching = np.zeros(0, np.int64), np.zeros(0, np.int64)
        self._lengths: dict[int, int] = {}
        self._before: np.ndarray | None = None

    def add(self, frame: SupervoxelFrame) -> None:
        """Count one more frame; frames come in order."""
        counts = np.bincount(frame.labels.ravel())
        self._grow(len(counts))
        border = measure_border(frame.labels)
        self._areas[: len(counts)] += counts
        self._border[: len(counts)] += border
        # A window numbers all its new supervoxels at once: some are met in a later frame than larger numbers.
        self._first[np.flatnonzero((counts > 0) & (self._seen[: len(counts)] == 0))] = frame.index
        self._seen[: len(counts)] += counts > 0
        self._touching[: len(counts)] += border > 0
        self._last[np.flatnonzero(counts)] = frame.index
        self._count_pairs(*list_faces(frame.labels))
        if self._before is not None:
            self._count_pairs(*_follow(frame, self._before))
        self._before = frame.labels

    def finish(self) -> Tally:
        """The sums so far."""
        keys = np.array(sorted(self._lengths), np.int64)
        edges = np.stack([keys >> 32, keys & 0xFFFFFFFF], axis=1).astype(np.int32)
        lengths = np.array([self._lengths[key] for key in keys.tolist()], np.int64)
        return Tally(self._areas, self._border, self._first, self._last, self._seen, self._touching, edges, lengths)

    def _grow(self, n_supervoxels: int) -> None:
        n_new = max(0, n_supervoxels - len(self._areas))
        for name in ("_areas", "_border", "_first", "_last", "_seen", "_touching"):
            sums = getattr(self, name)
            setattr(self, name, np.concatenate([sums, np.zeros(n_new, sums.dtype)]))

    def _count_pairs(self, one: np.ndarray, other: np.ndarray) -> None:
        keys = (np.minimum(one, other).astype(np.int64) << 32) | np.maximum(one, other)
        for key, count in zip(*(part.tolist() for part in np.unique(keys, return_counts=True)), strict=True):
            self._lengths[key] = self._lengths.get(key, 0) + count


def _follow(frame: SupervoxelFrame, before: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Supervoxels of every pixel and of its place in the frame before, where they differ."""
    height, width = before.shape
    y, x = np.mgrid[:height, :width]
    columns = np.rint(x + frame.flow[..., 0]).astype(np.int64)
    rows = np.rint(y + frame.flow[..., 1]).astype(np.int64)
    inside = (rows >= 0) & (rows < height) & (columns >= 0) & (columns < width)
    now, then = frame.labels[inside], before[rows[inside], columns[inside]]
    return now[now != then], then[now != then]
