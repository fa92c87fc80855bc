"""Geometry and colour of segments, measured once for all later steps."""

from __future__ import annotations

import numpy as np

from segvote.segmentation.hierarchy import measure_means
from segvote.segmentation.labels import list_edges, measure_areas, measure_border
from segvote.types import Segmentation


def measure_segments(segmentation: Segmentation, lab: np.ndarray, shape: tuple[int, int]) -> dict[str, np.ndarray]:
    """Everything later steps ask of the geometry, so that no label map has to be measured twice.

    Parameters
    ----------
    segmentation
        Of an image, or of the key frames of a video.
    lab
        (h, w, 3) or (frames, h, w, 3) Lab colours at working size.
    shape
        Height and width of the whole picture.
    """
    labels = segmentation.labels
    edges, lengths = list_edges(labels)
    areas = measure_areas(labels)
    return {
        "labels": labels.astype(np.uint16 if segmentation.n_segments <= 1 << 16 else np.uint32),
        "parents": segmentation.parents.astype(np.int32),
        "altitudes": segmentation.altitudes.astype(np.float32),
        "areas": areas.astype(np.int64),
        "border": measure_border(labels).astype(np.float32),
        "centres": measure_centres(labels).astype(np.float32),
        "edges": edges,
        "lengths": lengths.astype(np.float32),
        "colours": measure_means(lab, labels, areas).astype(np.float32),
        "shape": np.array(shape, dtype=np.int64),
    }


def measure_centres(labels: np.ndarray) -> np.ndarray:
    """(n_segments, 2) mean row and column of each segment of a label map (..., h, w), as shares of height and width."""
    flat, areas = labels.ravel(), measure_areas(labels)
    places = np.meshgrid(*[(np.arange(side) + 0.5) / side for side in labels.shape[-2:]], indexing="ij")
    sums = [np.bincount(flat, weights=np.broadcast_to(one, labels.shape).ravel()) for one in places]
    return np.stack(sums, axis=1) / np.maximum(areas, 1)[:, None]
