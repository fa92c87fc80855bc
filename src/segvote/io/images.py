"""Pictures on disk to arrays: always (h, w, 3) uint8 RGB in the displayed orientation, whatever the file holds.

What cannot be read raises `UnreadableImageError` with a short reason. Rules for unusual files: transparency is laid on
white; 16-bit channels keep their high byte, except that grey TIFF pages whose values all fit 12 bits count as 12-bit
(cameras and microscopes write those); other widths follow `scale_to_bytes`; only the first page or frame is read.
A path may ask for another page or another window: see `segvote.io.picture_formats`.
"""

from __future__ import annotations

import hashlib
import os
from math import ceil
from pathlib import Path

import cv2
import numpy as np
from PIL import Image

from segvote.errors import BadInputError, UnreadableImageError
from segvote.io.decoding import MAX_PIXELS, check_regular_file, open_picture, orient, read_orientation
from segvote.io.files import open_regular
from segvote.io.picture_formats import IMAGE_EXTENSIONS, list_readable_extensions, split_view
from segvote.io.tiff_stacks import scale_to_bytes
from segvote.kernels.pixels import resize_labels

__all__ = [
    "IMAGE_EXTENSIONS",
    "hash_file",
    "list_images",
    "read_enough",
    "read_image",
    "read_image_size",
    "read_light",
    "read_small_image",
    "resize_image",
    "resize_labels",
]

# How much smaller and larger than it was asked for a small picture may be, if that spares scaling it.
CLOSE_ENOUGH = (0.88, 1.1)
# The longest side that segmenters and networks see, the closer look included.
SEEN = 896


def list_images(folder: Path | str) -> list[Path]:
    """Image files below `folder`, by extension in any case, sorted by their path below it (with forward slashes).

    Hidden files and folders are left out. Linked folders are followed, each folder once, so links in a circle end.
    Links to nothing, pipes and devices are listed: reading them gives the reason, so no image is missing silently.
    """
    folder = Path(folder)
    if not folder.is_dir():
        raise BadInputError(
            f"expected a folder of images, got {folder}, which is {'a file' if folder.exists() else 'absent'}"
        )
    found: list[Path] = []
    _collect_images(folder, set(), found)
    return sorted(found, key=lambda path: path.relative_to(folder).as_posix())


def _collect_images(folder: Path, visited: set[tuple[int, int]], found: list[Path]) -> None:
    try:
        status = folder.stat()
        if (status.st_dev, status.st_ino) in visited:
            return
        visited.add((status.st_dev, status.st_ino))
        entries = sorted(
            (entry for entry in os.scandir(folder) if not entry.name.startswith(".")), key=lambda e: e.name
        )
    except OSError as error:
        raise BadInputError(
            f"cannot list the folder {folder}: {error.strerror}; give permission or remove it"
        ) from error
    folders = [entry for entry in entries if _is_folder(entry)]
    found += [Path(entry) for entry in entries if entry not in folders and _is_image(entry)]
    # Real folders first: a link to one of them must not take its place in the listing.
    for entry in sorted(folders, key=lambda entry: entry.is_symlink()):
        _collect_images(Path(entry), visited, found)


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:  # a link that points to itself
        return False


def _is_image(entry: os.DirEntry[str]) -> bool:
    return os.path.splitext(entry.name)[1].lower() in list_readable_extensions()


def read_image(path: Path | str, max_pixels: int = MAX_PIXELS) -> np.ndarray:
    """Read a picture as it is displayed: (h, w, 3) uint8 RGB, contiguous, writeable, EXIF orientation applied.

    JPEG, PNG, WebP, BMP, TIFF (first page) or GIF (first frame), recognised by content. `UnreadableImageError` says
    whether it is missing, empty, damaged, truncated, of more than `max_pixels`, or no picture.
    """
    with open_picture(path, max_pixels) as picture:
        return np.array(_convert_to_rgb(orient(picture)), dtype=np.uint8, order="C")


def read_enough(path: Path | str, longest: int = 2 * SEEN) -> tuple[np.ndarray, tuple[int, int]]:
    """As `read_image`, for what is scaled down anyway; and (height, width) of the whole picture.

    A JPEG file is decoded at the smallest half, quarter or eighth whose longer side has at least `longest` pixels, for
    a fraction of the time and memory.
    """
    with open_picture(path) as picture:
        width, height = picture.size
        if picture.format == "JPEG" and picture.mode in ("L", "RGB"):
            scale = longest / max(width, height)
            picture.draft(picture.mode, (ceil(width * scale), ceil(height * scale)))
        image = np.array(_convert_to_rgb(orient(picture)), dtype=np.uint8, order="C")
        is_turned = read_orientation(picture) >= 5
    return image, (width, height) if is_turned else (height, width)


def read_small_image(path: Path | str, longest: int) -> np.ndarray:
    """As `read_image`, for people to look at: with a longest side of about `longest` or less.

    JPEG files are decoded at a fraction of their size.
    """
    with open_picture(path) as picture:
        _shrink_decoder(picture, "RGB", longest)
        return _resize_roughly(np.array(_convert_to_rgb(orient(picture))), longest)


def read_light(path: Path | str, longest: int) -> tuple[np.ndarray, tuple[int, int]]:
    """As `read_small_image`, light and shade alone, (h, w) uint8; and (height, width) of the whole picture."""
    with open_picture(path) as picture:
        width, height = picture.size
        _shrink_decoder(picture, "L", longest)
        upright = orient(picture)
        is_grey = upright.mode == "L" and not upright.has_transparency_data
        light = np.array(upright if is_grey else _convert_to_rgb(upright).convert("L"))
        is_turned = read_orientation(picture) >= 5
    return _resize_roughly(light, longest), (width, height) if is_turned else (height, width)


def _shrink_decoder(picture: Image.Image, mode: str, longest: int) -> None:
    """Let a JPEG file be decoded to `mode`, at the fraction of its size that is about `longest`, or larger."""
    if picture.format == "JPEG" and picture.mode in ("L", "RGB"):
        scale = CLOSE_ENOUGH[0] * longest / max(picture.size)
        width, height = (max(1, round(side * scale)) for side in picture.size)
        picture.draft(picture.mode if picture.mode == "L" else mode, (width, height))


def _resize_roughly(image: np.ndarray, longest: int) -> np.ndarray:
    return image if max(image.shape) <= CLOSE_ENOUGH[1] * longest else resize_image(image, longest)


def read_image_size(path: Path | str) -> tuple[int, int]:
    """(height, width) of the picture as it is displayed; most formats have it in their header."""
    with open_picture(path, max_pixels=np.iinfo(np.int64).max) as picture:
        width, height = picture.size
        turned = read_orientation(picture) >= 5
    return (width, height) if turned else (height, width)


def hash_file(path: Path | str) -> str:
    """SHA-256 of the file's bytes, in hexadecimal; of a view, of these and of what of the file is read."""
    path, view = split_view(Path(path))
    check_regular_file(path)
    try:
        with open_regular(path) as file:
            content = hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise UnreadableImageError(f"{path}: cannot be read ({error.strerror})") from error
    return hashlib.sha256(f"{content} {view}".encode()).hexdigest() if str(view) else content


def resize_image(image: np.ndarray, longest: int, enlarge: bool = False) -> np.ndarray:
    """Scale (h, w) or (h, w, c) so that the longer side is `longest` pixels, averaging the pixels that fall together.

    A smaller image is returned as it is, or with `enlarge` enlarged (bicubic). Each side has at least one pixel.
    """
    height, width = image.shape[:2]
    scale = longest / max(height, width)
    if scale == 1 or (scale > 1 and not enlarge):
        return image
    size = (max(1, round(width * scale)), max(1, round(height * scale)))
    return cv2.resize(image, size, interpolation=cv2.INTER_AREA if scale < 1 else cv2.INTER_CUBIC)


def _convert_to_rgb(picture: Image.Image) -> Image.Image:
    if picture.mode.startswith(("I", "F")):
        return Image.fromarray(_convert_to_bytes(picture)).convert("RGB")
    if picture.has_transparency_data:
        picture = picture.convert("RGBA")
        white = Image.new("RGBA", picture.size, "white")
        return Image.alpha_composite(white, picture).convert("RGB")
    return picture.convert("RGB")


def _convert_to_bytes(picture: Image.Image) -> np.ndarray:
    values = np.asarray(picture)
    is_12_bit = picture.format == "TIFF" and values.dtype.itemsize == 2 and values.max() < 4096
    return scale_to_bytes(values, n_bits=12 if is_12_bit else 16)
