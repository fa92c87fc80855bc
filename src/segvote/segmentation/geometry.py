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
        "edges": edges,
        "lengths": lengths.astype(np.float32),
        "colours": measure_means(lab, labels, areas).astype(np.float32),
        "shape": np.array(shape, dtype=np.int64),
    }
