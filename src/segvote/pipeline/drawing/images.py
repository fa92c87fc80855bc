"""Masks of images, in memory or of a run."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np

from segvote.features.networks.sam import SIDE, Sam, open_sam
from segvote.io.arrays import read_if_whole, write_arrays
from segvote.io.images import read_picture, resize_image, resize_labels
from segvote.masks import Drawing, Superpixels, apply_user_labels, draw_mask
from segvote.masks.drawing import PictureReader
from segvote.masks.pieces import remove_specks
from segvote.pipeline.superpixels import fetch_superpixels, segment_superpixels
from segvote.run.run_folder import RunFolder, make_key
from segvote.selection import Selection


def draw_image(
    image: np.ndarray,
    selection: Selection,
    labels: np.ndarray,
    heat: np.ndarray,
    drawing: Drawing,
    superpixels: Superpixels | None = None,
) -> np.ndarray:
    """(H, W) bool: the mask of an image in memory, (H, W, 3) uint8 as displayed, at its own size; see `draw_mask`.

    Superpixels are computed where they are not given.
    """
    read, size = partial(resize_image, image), image.shape[:2]

    def segment() -> Superpixels:
        return superpixels or segment_superpixels(read(max(labels.shape)), labels)

    def embed(sam: Sam) -> np.ndarray:
        return sam.embed(read(SIDE))

    return resize_labels(_draw(selection, labels, heat, segment, embed, drawing, max(size), read), size)


def draw_stored(
    run: RunFolder,
    segments_key: str,
    image_path: Path,
    selection: Selection,
    labels: np.ndarray,
    heat: np.ndarray,
    drawing: Drawing,
    size: int,
) -> np.ndarray:
    """As `segvote.masks.draw_mask`, for an image file whose segments are in a run folder; `size` is its longer side."""
    fetch = partial(fetch_superpixels, run, segments_key, labels, image_path)
    embed = partial(fetch_embedding, get_embedding_path(run, segments_key, drawing), image_path)
    return _draw(selection, labels, heat, fetch, embed, drawing, size, partial(read_picture, image_path))


def embed_stored(run: RunFolder, segments_key: str, image_path: Path, drawing: Drawing) -> None:
    """Store the embedding of an image file by the refiner of a run, unless it is there."""
    sam = open_sam(drawing.refine, drawing.refine_sha256, drawing.device)
    fetch_embedding(get_embedding_path(run, segments_key, drawing), image_path, sam)


def fetch_embedding(path: Path, image_path: Path, sam: Sam) -> np.ndarray:
    """The embedding of an image file from the run folder; computed from the picture and stored if absent."""
    arrays = read_if_whole(path)
    if arrays is None or arrays.keys() != {"embedding"}:
        arrays = {"embedding": sam.embed(read_picture(image_path, SIDE))}
        write_arrays(path, False, **arrays)
    return arrays["embedding"]


def get_embedding_path(run: RunFolder, segments_key: str, drawing: Drawing) -> Path:
    """Path of the embedding of a bag, beside its segments, by the content of the encoder and the device."""
    key = make_key(encoder=drawing.refine_sha256.partition("+")[0], device=drawing.device)
    return run.segments_path(f"{segments_key}.embedding-{key}")


def _draw(
    selection: Selection,
    labels: np.ndarray,
    heat: np.ndarray,
    fetch: Callable[[], Superpixels],
    embed: Callable[[Sam], np.ndarray],
    drawing: Drawing,
    size: int,
    read: PictureReader,
) -> np.ndarray:
    """The mask by `segvote.masks.draw_mask`, its regions redrawn by the refiner of the run, without specks."""
    needs_superpixels = drawing.way != "segments" and selection.selected.any()
    mask = draw_mask(selection, labels, heat, fetch() if needs_superpixels else None, drawing, size, read)
    if is_refined(drawing) and mask.any():
        sam = open_sam(drawing.refine, drawing.refine_sha256, drawing.device)
        mask = apply_user_labels(sam.refine(mask, heat.take(labels), embed(sam)), labels, selection.user_labels)
    if drawing.way != "regions":
        return mask
    return apply_user_labels(remove_specks(mask, drawing.typical_piece), labels, selection.user_labels)


def is_refined(drawing: Drawing) -> bool:
    """Whether a network redraws masks: regions and segments, not lines."""
    return bool(drawing.refine) and drawing.way != "lines"
