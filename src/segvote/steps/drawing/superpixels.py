"""Masks of images, in memory or of a run, and the superpixels along which they are drawn, computed once and stored."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
from scipy import sparse

from segvote.features.networks.sam import SIDE, open_sam
from segvote.io.arrays import read_if_whole, write_arrays
from segvote.io.images import SEEN, read_enough, resize_image, resize_labels
from segvote.kernels.pixels import convert_to_lab
from segvote.masks import Decided, Drawing, Superpixels, apply_user_labels, draw_mask
from segvote.masks.drawing import PictureReader
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


def draw_image(image: np.ndarray, decided: Decided, drawing: Drawing) -> np.ndarray:
    """(H, W) bool: the mask of an image in memory, (H, W, 3) uint8 as displayed, at its own size."""
    read = partial(resize_image, image)

    def segment() -> Superpixels:
        return segment_superpixels(read(max(decided.labels.shape)), decided.labels)

    return resize_labels(_draw(decided, segment, drawing, max(image.shape[:2]), read), image.shape[:2])


def draw_stored(
    run: RunFolder, segments_key: str, image_path: Path, decided: Decided, drawing: Drawing, size: int
) -> np.ndarray:
    """As `segvote.masks.draw_mask`, for an image file whose segments are in a run folder; `size` is its longer side."""
    fetch = partial(fetch_superpixels, run, segments_key, decided.labels, image_path)
    return _draw(decided, fetch, drawing, size, partial(read_picture, image_path))


def _draw(
    decided: Decided, fetch: Callable[[], Superpixels], drawing: Drawing, size: int, read: PictureReader
) -> np.ndarray:
    """The mask by `segvote.masks.draw_mask`, its regions redrawn by the refiner of the run."""
    needs_superpixels = drawing.way != "segments" and decided.selected.any()
    mask = draw_mask(decided, fetch() if needs_superpixels else None, drawing, size, read)
    if not drawing.refine or drawing.way == "lines" or not mask.any():
        return mask
    sam = open_sam(drawing.refine, drawing.refine_sha256, drawing.device)
    return apply_user_labels(sam.refine(mask, decided.heat.take(decided.labels), read(SIDE)), decided)


def read_picture(path: Path, longest: int) -> np.ndarray:
    """(h, w, 3) uint8: an image file, its longer side at most `longest` pixels."""
    return resize_image(read_enough(path, max(longest, 2 * SEEN))[0], longest)


def fetch_superpixels(run: RunFolder, segments_key: str, segments: np.ndarray, image_path: Path) -> Superpixels:
    """The superpixels of a bag from the run folder; computed from the picture and stored if absent."""
    arrays = read_if_whole(get_superpixels_path(run, segments_key))
    if arrays is not None:
        return Superpixels(**arrays)
    found = segment_superpixels(read_picture(image_path, max(segments.shape)), segments)
    store_superpixels(run, segments_key, found)
    return found


def store_superpixels(run: RunFolder, segments_key: str, found: Superpixels) -> None:
    """Store the superpixels of a bag beside its segments."""
    write_arrays(get_superpixels_path(run, segments_key), compress=True, **vars(found))


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
