"""The small pieces of an image along which its mask is drawn: cut and measured once, kept beside its segments."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np

from segvote.io.arrays import read_if_whole, write_arrays
from segvote.io.images import resize_image
from segvote.masks import Pieces
from segvote.masks.drawing import CutImage, draw_mask_along
from segvote.run.run_folder import RunFolder
from segvote.segmentation import SEGMENTERS
from segvote.segmentation.colour import convert_to_lab
from segvote.segmentation.hierarchy import measure_means
from segvote.segmentation.labels import list_edges, measure_areas

__all__ = [
    "PIECES_SEGMENTER",
    "cut_image",
    "draw_mask",
    "fetch_pieces",
    "get_pieces_path",
    "measure_pieces",
    "store_pieces",
]

# Raised when pieces come out otherwise: old files are then not used.
PIECES_VERSION = 1
# Whatever cut the segments, pieces follow colour alone.
PIECES_SEGMENTER = "ward"


def cut_image(working: np.ndarray, segments: np.ndarray, n_superpixels: int) -> CutImage:
    """Cut an image (h, w, 3) at working size, in which `segments` (h, w) are known, into pieces."""
    labels = SEGMENTERS[PIECES_SEGMENTER](working, n_segments=n_superpixels).labels
    return measure_pieces(convert_to_lab(working), segments, labels)


def measure_pieces(lab: np.ndarray, segments: np.ndarray, labels: np.ndarray) -> CutImage:
    """As `cut_image`, with the image's Lab colours (h, w, 3) and the label map (h, w) of the pieces known already."""
    areas = measure_areas(labels)
    edges, lengths = list_edges(labels)
    pieces = Pieces(
        areas=areas.astype(np.float32),
        colours=measure_means(lab, labels, areas).astype(np.float32),
        edges=edges,
        lengths=lengths.astype(np.float32),
        segments=_find_majority(labels, segments),
    )
    return CutImage(labels.astype(np.uint16 if len(areas) <= 1 << 16 else np.uint32), pieces)


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
        (n_segments,) heat in [0, 1]; bool; -1 where no person said 0 or 1.
    n_superpixels
        How many small pieces to redraw along; 0: the decided segments as they are.
    """
    cut = None
    if n_superpixels and decisions.any():
        cut = cut_image(resize_image(image, max(labels.shape)), labels, n_superpixels)
    return draw_mask_along(cut, labels, heat, decisions, fixed, image.shape[:2])  # type: ignore[arg-type]


def fetch_pieces(
    run: RunFolder, segments_key: str, n_superpixels: int, segments: np.ndarray, read_image: Callable[[], np.ndarray]
) -> CutImage:
    """The pieces of a bag from the run folder; cut from the picture, and kept, where they are not there."""
    arrays = read_if_whole(get_pieces_path(run, segments_key, n_superpixels))
    if arrays is not None:
        return CutImage(arrays.pop("labels"), Pieces(**arrays))
    cut = cut_image(resize_image(read_image(), max(segments.shape)), segments, n_superpixels)
    store_pieces(run, segments_key, n_superpixels, cut)
    return cut


def store_pieces(run: RunFolder, segments_key: str, n_superpixels: int, cut: CutImage) -> None:
    """Keep the pieces of a bag beside its segments."""
    path = get_pieces_path(run, segments_key, n_superpixels)
    write_arrays(path, compress=True, labels=cut.labels, **vars(cut.pieces))


def get_pieces_path(run: RunFolder, segments_key: str, n_superpixels: int) -> Path:
    """Where the pieces of a bag lie."""
    return run.segments_path(f"{segments_key}.pieces-{PIECES_VERSION}-{n_superpixels}")


def _find_majority(labels: np.ndarray, segments: np.ndarray) -> np.ndarray:
    """The segment that covers most of each piece; of two that cover the same, the one with the larger number."""
    owners = np.zeros(int(labels.max()) + 1, np.int32)
    owners[labels] = segments
    if np.array_equal(owners[labels], segments):  # cut from the tree of the segments, each piece lies in one
        return owners
    n_segments = int(segments.max()) + 1
    pairs, counts = np.unique(labels.ravel().astype(np.int64) * n_segments + segments.ravel(), return_counts=True)
    order = np.lexsort((counts, pairs // n_segments))
    last = np.flatnonzero(np.diff(np.append(pairs[order] // n_segments, -1)))
    return (pairs[order] % n_segments)[last].astype(np.int32)
