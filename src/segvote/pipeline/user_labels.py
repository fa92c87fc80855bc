"""From corrections to arrays: user labels and painted shares of the segments of a run.

What each kind of correction does is described in `segvote.run.corrections`.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from segvote.inputs.bags import Bag
from segvote.io.arrays import read_arrays
from segvote.pipeline.strokes import UNDECIDED, Canvas, decode_stroke
from segvote.run.correction_log import Action
from segvote.run.corrections import Corrections
from segvote.run.run_folder import RunFolder
from segvote.run.videos import KeyFrames
from segvote.selection import make_unknown_labels


def label_segments(
    run: RunFolder, bags: Sequence[Bag], corrections: Corrections
) -> tuple[np.ndarray | None, np.ndarray | None, np.ndarray | None]:
    """User labels, painted shares and shares of finished images of all segments, see `label_bag`; None for none."""
    labels = [_make_unlabelled(bag.n_segments) for bag in bags]
    for index, bag in enumerate(bags):
        if strokes := corrections.strokes.get(bag.digest):
            labels[index] = label_bag(run, bag, strokes)
    user_labels, shares, finished = (np.concatenate(values) for values in zip(*labels, strict=True))
    return drop_empty(user_labels, UNDECIDED), drop_empty(shares, 0), drop_empty(finished, np.nan)


def _make_unlabelled(n_segments: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    return make_unknown_labels(n_segments), np.zeros(n_segments), np.full(n_segments, np.nan)


def drop_empty(values: np.ndarray, empty: float) -> np.ndarray | None:
    """The values, or None where all of them are `empty`."""
    is_empty = np.isnan(values) if np.isnan(empty) else values == empty
    return None if is_empty.all() else values


def label_bag(run: RunFolder, bag: Bag, strokes: Sequence[Action]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """User labels int8, painted shares and shares of a finished image, each (n_segments,), of one bag; see `Canvas`.

    A finished image has the share of each segment that is object, and neither labels nor painted shares; the others
    have NaN instead. Videos are not finished.
    """
    unlabelled = _make_unlabelled(bag.n_segments)
    if bag.n_frames:
        keys = KeyFrames.open(run, bag.segments_key, bag.features_key)
        return _label_video(keys, strokes, bag.n_segments), *unlabelled[1:]
    labels = read_arrays(run.segments_path(bag.segments_key))["labels"]
    return label_canvas(Canvas(labels.shape, strokes), labels, strokes, bag.n_segments)


def label_canvas(
    canvas: Canvas, labels: np.ndarray, strokes: Sequence[Action], n_segments: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """As `label_bag`, of an image by its strokes laid over each other on its segments (h, w)."""
    unlabelled = _make_unlabelled(n_segments)
    if any(stroke.kind == "accept" for stroke in strokes):
        return *unlabelled[:2], canvas.measure_object(labels, n_segments)
    return canvas.label_segments(labels, n_segments), canvas.measure_painted(labels, n_segments), unlabelled[2]


def _label_video(keys: KeyFrames, strokes: Sequence[Action], n_segments: int) -> np.ndarray:
    """(n_segments,) int8: the value of the last stroke that covers more than half of a segment in a key frame.

    A stroke on another frame counts for the nearest key frame.
    """
    user_labels = np.full(n_segments, UNDECIDED, dtype=np.int8)
    for stroke in strokes:
        labels = keys.read_labels(keys.find_nearest(stroke.frame))
        covered = np.bincount(labels.ravel(), weights=decode_stroke(stroke, labels.shape).ravel(), minlength=n_segments)
        user_labels[2 * covered > np.bincount(labels.ravel(), minlength=n_segments)] = stroke.value
    return user_labels
