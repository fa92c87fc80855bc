"""From the key frames of a video to one threshold for the video."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from segvote.method.table import SegmentTable
from segvote.selection import Selection


def join_frames(table: SegmentTable, selection: Selection) -> Selection:
    """The selection with one threshold and uncertainty per bag, means over its key frames; unchanged without videos.

    Scores and votes of a key frame are shifted with its threshold, so that the same segments lie above it.
    """
    if table.n_images == len(table.bag_labels):
        return selection
    shifts = measure_shifts(table, selection.thresholds)
    return replace(
        selection,
        offsets=table.bag_offsets,
        scores=selection.scores + shifts,
        unsmoothed=selection.unsmoothed + shifts,
        thresholds=table.average_by_bag(selection.thresholds),
        uncertainty=table.average_by_bag(selection.uncertainty),
        empty=table.average_by_bag(selection.empty) == 1,
        extent=selection.extent[np.unique(table.image_bags, return_index=True)[1]],
    )


def measure_shifts(table: SegmentTable, thresholds: np.ndarray) -> np.ndarray:
    """(n_segments,) threshold of the bag less that of the image, by thresholds (n_images,)."""
    return (table.average_by_bag(thresholds)[table.image_bags] - thresholds)[table.images]
