"""A background prior by local contrast, for objects thinner than a segment, which its features do not show.

The peak of a segment is the local contrast that a small part of it reaches. Where the highest peaks of images separate
the folders, in images that had no part in choosing the filter, segments are weighted by how rare their peak is in
*without* images.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from segvote.inputs.bags import Bag
from segvote.io.arrays import read_arrays, read_if_whole, write_arrays
from segvote.io.images import read_picture, resize_labels
from segvote.masks.lines import LINE_SIZE, measure_peaks
from segvote.method.cross_fit import make_folds
from segvote.method.table import SegmentTable
from segvote.numerics.auc import measure_auc
from segvote.numerics.pixels import convert_to_lab
from segvote.pipeline.workers import Resources, run_on_all
from segvote.run.run_folder import RunFolder

# Raised when peaks change: old files are then not used.
PEAKS_VERSION = 1
# Probability that the highest peak of a *with* image exceeds that of a *without* image, from which peaks are used: by
# chance it is one half, with a standard error of .1 for 12 + 12 images. Cracks and scratches have .74 to .87.
MIN_AUC = 2 / 3
# Images of a folder below which no filter is chosen: each half needs two.
MIN_IMAGES = 4


def read_peaks(run: RunFolder, bag: Bag) -> np.ndarray:
    """(n_segments, n_filters) peaks of a bag, from the run folder; computed from the picture and stored if absent."""
    path = run.segments_path(f"{bag.segments_key}.contrast-{PEAKS_VERSION}")
    arrays = read_if_whole(path)
    if arrays is None:
        labels = read_arrays(run.segments_path(bag.segments_key), ("labels",))["labels"]
        arrays = {"peaks": measure_image(read_picture(bag.path, LINE_SIZE), labels)}
        write_arrays(path, False, **arrays)
    return arrays["peaks"]


def measure_image(picture: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """(n_segments, n_filters) peaks of a picture (h, w, 3) uint8 of `LINE_SIZE` by its label map of any size."""
    lab = convert_to_lab(picture)
    return measure_peaks(lab, resize_labels(labels, lab.shape[:2]), int(labels.max()) + 1)


def weigh_contrast(run: RunFolder, bags: Sequence[Bag], table: SegmentTable, resources: Resources) -> SegmentTable:
    """The table of a run's bags with the prior by local contrast; videos have none."""
    if any(bag.is_video for bag in bags):
        return table
    return prefer_contrast(table, list(run_on_all(partial(read_peaks, run), bags, resources, "compare surfaces")))


def prefer_contrast(table: SegmentTable, peaks: Sequence[np.ndarray]) -> SegmentTable:
    """The table with a prior 1 - p, p being the share of *without* segments whose peak is as high.

    The prior is left out where no filter separates the folders. `peaks` are (n_segments, n_filters) of each image.
    """
    highest = np.array([one.max(axis=0) for one in peaks])
    n_images = table.positive.sum()
    if min(n_images, table.n_images - n_images) < MIN_IMAGES or _cross_fit(table, highest) < MIN_AUC:
        return table
    values = np.concatenate(peaks)[:, _choose_filter(highest, table.positive)]
    sound = np.sort(values[~table.is_candidate])
    n_as_high = len(sound) - np.searchsorted(sound, values, side="left")
    return replace(table, prior=1 - (n_as_high + 1) / (len(sound) + 1))


def _cross_fit(table: SegmentTable, highest: np.ndarray) -> float:
    """AUC of the highest peaks (n_images, n_filters), of images that chose no filter."""
    halves, aucs = make_folds(table, 2), []
    for half in range(2):
        seen, other = halves == half, halves != half
        chosen = _choose_filter(highest[seen], table.positive[seen])
        aucs.append(measure_auc(highest[other, chosen], table.positive[other]))
    return float(np.mean(aucs))


def _choose_filter(highest: np.ndarray, positive: np.ndarray) -> int:
    """Number of the filter whose highest peaks (n_images, n_filters) separate the folders best."""
    return int(np.argmax([measure_auc(column, positive) for column in highest.T]))
