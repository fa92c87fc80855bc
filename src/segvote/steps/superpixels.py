"""The superpixels of an image along which its mask is drawn: computed once, kept beside its segments."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from segvote.io.arrays import read_if_whole, write_arrays
from segvote.io.images import read_enough, resize_image
from segvote.masks import Superpixels
from segvote.masks.drawing import SuperpixelMap, draw_mask_along
from segvote.run.run_folder import RunFolder
from segvote.segmentation import SEGMENTERS
from segvote.segmentation.colour import convert_to_lab
from segvote.segmentation.hierarchy import measure_means
from segvote.segmentation.labels import list_edges, measure_areas

# Raised when superpixels come out otherwise: old files are then not used.
SUPERPIXELS_VERSION = 1
# Whatever the segmenter, superpixels follow colour alone.
SUPERPIXEL_SEGMENTER = "ward"


def segment_superpixels(working: np.ndarray, segments: np.ndarray, n_superpixels: int) -> SuperpixelMap:
    """Superpixels of an image (h, w, 3) at working size, in which `segments` (h, w) are known."""
    labels = SEGMENTERS[SUPERPIXEL_SEGMENTER](working, n_segments=n_superpixels).labels
    return measure_superpixels(convert_to_lab(working), segments, labels)


def measure_superpixels(lab: np.ndarray, segments: np.ndarray, labels: np.ndarray) -> SuperpixelMap:
    """As `segment_superpixels`, with Lab colours (h, w, 3) and label map (h, w) of the superpixels known."""
    areas = measure_areas(labels)
    edges, lengths = list_edges(labels)
    superpixels = Superpixels(
        areas=areas.astype(np.float32),
        colours=measure_means(lab, labels, areas).astype(np.float32),
        edges=edges,
        lengths=lengths.astype(np.float32),
        segments=_find_majority(labels, segments),
    )
    return SuperpixelMap(labels.astype(np.uint16 if len(areas) <= 1 << 16 else np.uint32), superpixels)


def draw_mask(
    image: np.ndarray,
    labels: np.ndarray,
    heat: np.ndarray,
    decisions: np.ndarray,
    fixed: np.ndarray,
    n_superpixels: int,
) -> np.ndarray:
    """Mask of an image at its own size.

    Parameters
    ----------
    image
        (H, W, 3) uint8 as displayed.
    labels
        (h, w) label map at working size.
    heat, decisions, fixed
        (n_segments,) heat in [0, 1]; bool; -1 or the user label, 0 or 1.
    n_superpixels
        How many superpixels to draw along; 0: the decided segments as they are.
    """
    found = None
    if n_superpixels and decisions.any():
        found = segment_superpixels(resize_image(image, max(labels.shape)), labels, n_superpixels)
    return draw_mask_along(found, labels, heat, decisions, fixed, image.shape[:2])  # type: ignore[arg-type]


def fetch_superpixels(
    run: RunFolder, segments_key: str, n_superpixels: int, segments: np.ndarray, image_path: Path
) -> SuperpixelMap:
    """The superpixels of a bag from the run folder; computed from the picture, and kept, where they are not there."""
    arrays = read_if_whole(get_superpixels_path(run, segments_key, n_superpixels))
    if arrays is not None:
        return SuperpixelMap(arrays.pop("labels"), Superpixels(**arrays))
    size = max(segments.shape)
    working = resize_image(read_enough(image_path, size)[0], size)
    found = segment_superpixels(working, segments, n_superpixels)
    store_superpixels(run, segments_key, n_superpixels, found)
    return found


def store_superpixels(run: RunFolder, segments_key: str, n_superpixels: int, found: SuperpixelMap) -> None:
    """Keep the superpixels of a bag beside its segments."""
    path = get_superpixels_path(run, segments_key, n_superpixels)
    write_arrays(path, compress=True, labels=found.labels, **vars(found.superpixels))


def get_superpixels_path(run: RunFolder, segments_key: str, n_superpixels: int) -> Path:
    """Where the superpixels of a bag lie."""
    return run.segments_path(f"{segments_key}.pieces-{SUPERPIXELS_VERSION}-{n_superpixels}")


def _find_majority(labels: np.ndarray, segments: np.ndarray) -> np.ndarray:
    """The segment that covers most of each superpixel; of two that cover the same, the one with the larger number."""
    owners = np.zeros(int(labels.max()) + 1, np.int32)
    owners[labels] = segments
    if np.array_equal(owners[labels], segments):  # of the tree of the segments: each superpixel lies in one
        return owners
    n_segments = int(segments.max()) + 1
    pairs, counts = np.unique(labels.ravel().astype(np.int64) * n_segments + segments.ravel(), return_counts=True)
    order = np.lexsort((counts, pairs // n_segments))
    last = np.flatnonzero(np.diff(np.append(pairs[order] // n_segments, -1)))
    return (pairs[order] % n_segments)[last].astype(np.int32)
