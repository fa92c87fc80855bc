"""Superpixels, along which masks are drawn: of an image in memory, and stored beside its segments."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from scipy import sparse

from segvote.io.arrays import read_if_whole, write_arrays
from segvote.io.images import read_picture
from segvote.masks import Superpixels
from segvote.numerics.pixels import convert_to_lab
from segvote.run.run_folder import RunFolder
from segvote.segmentation import SEGMENTERS
from segvote.segmentation.labels import list_edges, measure_means

# Raised when superpixels change: old files are then not used.
SUPERPIXELS_VERSION = 1
# Superpixels of an image at working size.
N_SUPERPIXELS = 1500
# With every segmenter, superpixels follow colour alone.
SUPERPIXEL_SEGMENTER = "ward"


def segment_superpixels(working: np.ndarray, segments: np.ndarray, n_superpixels: int = N_SUPERPIXELS) -> Superpixels:
    """Superpixels of an image (h, w, 3) at working size, in which `segments` (h, w) are known."""
    labels = SEGMENTERS[SUPERPIXEL_SEGMENTER](working, n_segments=n_superpixels).labels
    return measure_superpixels(convert_to_lab(working), segments, labels)


def measure_superpixels(lab: np.ndarray, segments: np.ndarray, labels: np.ndarray) -> Superpixels:
    """As `segment_superpixels`, with Lab colours (h, w, 3) and label map (h, w) of the superpixels known."""
    areas = np.bincount(labels.ravel())
    edges, lengths = list_edges(labels)
    return Superpixels(
        labels=labels.astype(np.uint16 if len(areas) <= 1 << 16 else np.uint32),
        areas=areas.astype(np.float32),
        colours=measure_means(lab, labels, areas).astype(np.float32),
        edges=edges,
        lengths=lengths.astype(np.float32),
        segments=_find_majority(labels, segments),
    )


def fetch_superpixels(run: RunFolder, segments_key: str, segments: np.ndarray, image_path: Path) -> Superpixels:
    """The superpixels of a bag from the run folder; computed from the picture and stored if absent."""
    arrays = read_if_whole(get_superpixels_path(run, segments_key))
    if arrays is not None:
        return Superpixels(**arrays)
    superpixels = segment_superpixels(read_picture(image_path, max(segments.shape)), segments)
    store_superpixels(run, segments_key, superpixels)
    return superpixels


def store_superpixels(run: RunFolder, segments_key: str, superpixels: Superpixels) -> None:
    """Store the superpixels of a bag beside its segments."""
    write_arrays(get_superpixels_path(run, segments_key), compress=True, **vars(superpixels))


def get_superpixels_path(run: RunFolder, segments_key: str) -> Path:
    """Path of the superpixels of a bag."""
    return run.segments_path(f"{segments_key}.superpixels-{SUPERPIXELS_VERSION}")


def _find_majority(labels: np.ndarray, segments: np.ndarray) -> np.ndarray:
    """The segment that covers most of each superpixel; of two with equal shares, the one with the larger number."""
    owners = np.zeros(int(labels.max()) + 1, np.int32)
    owners[labels] = segments
    if np.array_equal(owners[labels], segments):  # superpixels of the same tree lie in one segment each
        return owners
    # Counted by a sparse matrix, row by row: a sort of all pixels takes three times as long.
    pixels = sparse.coo_matrix((np.ones(labels.size, np.int32), (labels.ravel(), segments.ravel())))
    counted = pixels.tocsr().tocoo()
    order = np.lexsort((counted.col, counted.data, counted.row))
    last = np.flatnonzero(np.diff(np.append(counted.row[order], -1)))
    return counted.col[order][last].astype(np.int32)
