"""Small pictures for the page: image, heat map and mask of one bag, within a number of bytes.

A picture that is gone or has changed since the run gives a reason instead of an error.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import cv2
import numpy as np

from segvote.errors import UnreadableImageError
from segvote.io.images import read_image_size, read_small_image, resize_image
from segvote.io.overlays import blend_mask, encode_jpeg, format_data_uri
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
    def uri(self) -> str:
        return format_data_uri(self.data)


@dataclass(frozen=True)
class Triplet:
    """Image, heat map and mask of one bag; None where there is none, and then `problem` may say why."""

    image: Thumbnail | None = None
    heat: Thumbnail | None = None
    mask: Thumbnail | None = None
    problem: str = ""

    @property
    def n_bytes(self) -> int:
        """Base64 characters of all three."""
        return sum(_count_base64(one.data) for one in (self.image, self.heat, self.mask) if one)


def choose_size(n_images: int) -> int:
    """Longest side of the thumbnails: 240 pixels for 400 images, larger for fewer, smaller for more."""
    return int(min(max(240 * math.sqrt(400 / max(n_images, 1)), SMALLEST), LARGEST))


def count_share(n_images: int) -> int:
    """Base64 characters that one bag's pictures may take."""
    return PAGE_BYTES // max(n_images, 1)


def make_triplet(run: Run, index: int, size: int, max_bytes: int) -> Triplet:
    """Thumbnails of one bag, `size` pixels on the longest side.

    Quality is lowered until all three take at most `max_bytes` base64 characters.
    """
    bag = run.bags[index]
    image, image_problem = try_image(run.find_image(index), (bag.height, bag.width), size)
    heat, heat_problem = _try_read(run.folder.heatmap_path(bag.stem), size, "the heat map")
    mask, mask_problem = _try_mask(run, index, image, size) if bag.n_selected else (None, "")
    problem = "; ".join(filter(None, [image_problem, heat_problem, mask_problem]))
    shown = _encode([image, heat, mask], max_bytes)
    return Triplet(shown[0], shown[1], shown[2], problem)


def _try_read(path: Path, size: int, what: str) -> tuple[np.ndarray | None, str]:
    try:
        return read_small_image(path, size), ""
    except UnreadableImageError as error:
        return None, f"{what} cannot be shown: {str(error).removeprefix(f'{path}: ')}"


def try_image(path: Path, shape: tuple[int, int], size: int) -> tuple[np.ndarray | None, str]:
    """An image, its longest side at most `size` pixels; None, and why, where it is gone or not of that `shape`."""
    if not path.exists():
        return None, "the image is no longer where it was during the run"
    image, problem = _try_read(path, size, "the image")
    if image is not None and read_image_size(path) != shape:
        return None, "the image has changed since the run: its size is another"
    return image, problem


def _try_mask(run: Run, index: int, image: np.ndarray | None, size: int) -> tuple[np.ndarray | None, str]:
    path = run.folder.mask_path(run.bags[index].stem)
    try:
        mask = run.read_mask(index)
    except UnreadableImageError as error:
        return None, f"the mask cannot be shown: {str(error).removeprefix(f'{path}: ')}"
    if image is None:  # the mask alone still tells where the object was
        image = np.full((*resize_image(mask.astype(np.uint8), size).shape, 3), 160, np.uint8)
    small = cv2.resize(mask.astype(np.float32), image.shape[1::-1], interpolation=cv2.INTER_AREA) >= 0.5
    return blend_mask(image, small), ""


def _encode(pictures: Sequence[np.ndarray | None], max_bytes: int) -> list[Thumbnail | None]:
    encoded: list[Thumbnail | None] = []
    for quality in QUALITIES:
        encoded = [None if one is None else Thumbnail(encode_jpeg(one, quality), *one.shape[:2]) for one in pictures]
        if sum(_count_base64(one.data) for one in encoded if one) <= max_bytes:
            break
    return encoded


def _count_base64(data: bytes) -> int:
    return 4 * math.ceil(len(data) / 3)
