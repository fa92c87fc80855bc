"""Small pictures for a page: image, heat map and mask of one bag, within a number of bytes."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import cv2
import numpy as np

from segvote.errors import UnreadableImageError
from segvote.io.images import read_small_image, resize_image
from segvote.io.overlays import blend_mask, encode_jpeg, format_data_uri
from segvote.report.markup import escape
from segvote.run.run import Run

# Base64 characters for all pictures: with the text of 400 images the page stays below 20 MB.
PAGE_BYTES = 18_000_000
SMALLEST, LARGEST = 96, 360  # longest side of a thumbnail in pixels
QUALITIES = (80, 65, 45, 25, 10)


@dataclass(frozen=True)
class Thumbnail:
    """A JPEG and its size in pixels."""

    data: bytes
    height: int
    width: int

    @property
    def n_bytes(self) -> int:
        """Base64 characters."""
        return 4 * math.ceil(len(self.data) / 3)

    def format(self, description: str) -> str:
        """An element of a page that carries the picture inside."""
        size = f'width="{self.width}" height="{self.height}"'
        return f'<img src="{format_data_uri(self.data)}" {size} alt="{escape(description)}" decoding="async">'


def encode_picture(picture: np.ndarray, quality: int = 75) -> Thumbnail:
    """A picture (h, w, 3) uint8 as JPEG."""
    return Thumbnail(encode_jpeg(picture, quality), *picture.shape[:2])


def format_picture(picture: np.ndarray, name: str) -> str:
    """A picture (h, w, 3) uint8 as an element of a page that carries it inside."""
    return encode_picture(picture).format(name)


class Triplet(NamedTuple):
    """Image, heat map and mask of one bag; None where there is none."""

    image: Thumbnail | None = None
    heat: Thumbnail | None = None
    mask: Thumbnail | None = None

    @property
    def n_bytes(self) -> int:
        """Base64 characters of all three."""
        return sum(one.n_bytes for one in self if one)


def choose_size(n_images: int) -> int:
    """Longest side of the thumbnails: 240 pixels for 400 images, larger for fewer, smaller for more."""
    return int(min(max(240 * math.sqrt(400 / max(n_images, 1)), SMALLEST), LARGEST))


def make_triplet(run: Run, index: int, size: int, max_bytes: int) -> Triplet:
    """Thumbnails of one bag, `size` pixels on the longest side.

    Quality is lowered until all three take at most `max_bytes` base64 characters.
    """
    bag, image = run.bags[index], read_picture(run.find_image(index), size)
    heat = read_picture(run.folder.heatmap_path(bag.stem), size)
    mask = _draw_mask(run, index, image, size) if bag.n_selected else None
    for quality in QUALITIES:
        triplet = Triplet(*(None if one is None else encode_picture(one, quality) for one in (image, heat, mask)))
        if triplet.n_bytes <= max_bytes:
            break
    return triplet


def read_picture(path: Path, size: int) -> np.ndarray | None:
    """An image, its longest side at most `size` pixels; None where it is missing or cannot be read."""
    try:
        return read_small_image(path, size)
    except UnreadableImageError:
        return None


def _draw_mask(run: Run, index: int, image: np.ndarray | None, size: int) -> np.ndarray | None:
    try:
        mask = run.read_mask(index)
    except UnreadableImageError:
        return None
    if image is None:  # the mask alone still shows where the object was
        image = make_grey(resize_image(mask.astype(np.uint8), size).shape)
    small = cv2.resize(mask.astype(np.float32), image.shape[1::-1], interpolation=cv2.INTER_AREA) >= 0.5
    return blend_mask(image, small)


def make_grey(shape: tuple[int, ...]) -> np.ndarray:
    """A grey picture instead of a missing one."""
    return np.full((*shape, 3), 160, np.uint8)
