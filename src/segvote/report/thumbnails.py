"""Small pictures for a page: image, heat map and mask of one bag, within a number of bytes."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import cv2
import numpy as np

from segvote.errors import UnreadableImageError
from segvote.io.images import read_small_image
from segvote.io.overlays import blend_mask, encode_jpeg, format_data_uri
from segvote.report.markup import format_share
from segvote.run.run import Run

# Characters for all pictures: with the text of 400 images the page stays below 20 MB.
PAGE_BYTES = 18_000_000
SMALLEST, LARGEST = 96, 360  # longest side of a thumbnail in pixels
QUALITIES = (80, 65, 45, 25, 10)


@dataclass(frozen=True)
class Picture:
    """A picture that a page carries inside; `picture` of macros.html.j2 shows it."""

    source: str  # data URI
    width: int
    height: int
    description: str


Triplet: TypeAlias = Sequence[Picture | None]  # image, heat map and mask of one bag; None where there is none


def make_picture(picture: np.ndarray, description: str, quality: int = 75) -> Picture:
    """A picture (h, w, 3) uint8 as JPEG."""
    height, width, _ = picture.shape
    return Picture(format_data_uri(encode_jpeg(picture, quality)), width, height, description)


def choose_size(n_images: int) -> int:
    """Longest side of the thumbnails: 240 pixels for 400 images, larger for fewer, smaller for more."""
    return int(min(max(240 * math.sqrt(400 / max(n_images, 1)), SMALLEST), LARGEST))


def make_triplet(run: Run, index: int, size: int, max_bytes: int) -> Triplet:
    """Image, heat map and mask of one bag.

    Their longest side is `size` pixels. Quality is lowered until all three take at most `max_bytes` characters.
    """
    bag, image = run.bags[index], read_picture(run.find_image(index), size)
    name = bag.name.removeprefix(f"{bag.bag_label}/")
    pictures = {
        f"Image {name}": image,
        f"Heat map of {name}": read_picture(run.folder.heatmap_path(bag.stem), size),
        f"Mask on {name}, {format_share(bag.area)} of the image": _draw_mask(run, index, image),
    }
    for quality in QUALITIES:
        made = [None if one is None else make_picture(one, text, quality) for text, one in pictures.items()]
        if count_characters(made) <= max_bytes:
            break
    return made


def count_characters(pictures: Iterable[Picture | None]) -> int:
    """Characters that pictures take on a page, their descriptions aside."""
    return sum(len(one.source) for one in pictures if one is not None)


def read_picture(path: Path, size: int) -> np.ndarray | None:
    """An image, its longest side at most `size` pixels; None where it is missing or cannot be read."""
    try:
        return read_small_image(path, size)
    except UnreadableImageError:
        return None


def outline_segments(picture: np.ndarray, labels: np.ndarray, selected: np.ndarray) -> np.ndarray:
    """A picture (h, w, 3) with the selected segments (n_segments,) bool of its label map (h, w) outlined."""
    # A smaller label map leaves gaps of a pixel in the mask.
    mask = cv2.morphologyEx(selected[labels].astype(np.uint8), cv2.MORPH_CLOSE, np.ones((3, 3), np.uint8))
    return blend_mask(picture, mask.astype(bool))


def _draw_mask(run: Run, index: int, image: np.ndarray | None) -> np.ndarray | None:
    if image is None or not run.bags[index].n_selected:
        return None
    try:
        mask = run.read_mask(index)
    except UnreadableImageError:
        return None
    return blend_mask(
        image, cv2.resize(mask.astype(np.float32), image.shape[1::-1], interpolation=cv2.INTER_AREA) >= 0.5
    )
