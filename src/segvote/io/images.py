"""Pictures on disk to arrays: always (h, w, 3) uint8 RGB in the displayed orientation.

An unreadable file raises `UnreadableImageError` with a short reason. Rules for unusual files: transparency is laid on
white; 16-bit channels keep their high byte, except that grey TIFF pages whose values all fit 12 bits count as 12-bit
(cameras and microscopes write those); other widths follow `convert_to_bytes`; only the first page or frame is read.
A path may ask for another page or another window: see `segvote.io.picture_formats`.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Container
from math import ceil
from pathlib import Path

import cv2
import numpy as np
from PIL import Image

from segvote.errors import BadInputError, UnreadableImageError
from segvote.io.decoding import (
    MAX_PIXELS,
    check_regular_file,
    convert_to_bytes,
    open_picture,
    orient,
    read_orientation,
)
from segvote.io.own_folders import is_own_folder
from segvote.io.picture_formats import IMAGE_EXTENSIONS as IMAGE_EXTENSIONS
from segvote.io.picture_formats import list_readable_extensions, split_view
from segvote.numerics.pixels import resize_labels as resize_labels

# How much smaller and larger than it was asked for a small picture may be, if that spares scaling it.
CLOSE_ENOUGH = (0.88, 1.1)
# The longest side that segmenters and networks see, the closer look included.
SEEN = 896


def list_images(folder: Path | str, extensions: Container[str] | None = None) -> list[Path]:
    """Files below `folder` by extension, those of images unless given, sorted by their path below it.

    Hidden files and folders are left out, and folders that segvote wrote. Linked folders are followed, each folder
    once, so links in a circle end.
    Links to nothing, pipes and devices are listed: reading them gives the reason, so no image is missing silently.
    """
    folder = Path(folder)
    if not folder.is_dir():
        raise BadInputError(
            f"expected a folder of images, got {folder}, which is {'a file' if folder.exists() else 'absent'}"
        )
    paths: list[Path] = []
    visited = set()
    for root, folders, files in os.walk(folder, followlinks=True, onerror=_refuse_unlisted):
        if (identity := _identify(root)) in visited or (root != str(folder) and is_own_folder(root)):
            folders.clear()
            continue
        visited.add(identity)
        # Real folders first: a link to one of them must not take its place in the listing.
        folders[:] = sorted(_list_visible(folders), key=lambda name: (os.path.islink(os.path.join(root, name)), name))
        paths += [
            Path(root, name)
            for name in _list_visible(files)
            if os.path.splitext(name)[1].lower() in (extensions or list_readable_extensions())
        ]
    return sorted(paths, key=lambda path: path.relative_to(folder).as_posix())


def _identify(folder: str) -> tuple[int, int] | str:
    """Device and inode of a folder; its real path on file systems of Windows that number no files."""
    status = os.stat(folder)
    return (status.st_dev, status.st_ino) if status.st_ino else os.path.realpath(folder)


def _list_visible(names: list[str]) -> list[str]:
    return [name for name in names if not name.startswith(".")]


def _refuse_unlisted(error: OSError) -> None:
    raise BadInputError(
        f"cannot list the folder {error.filename}: {error.strerror}; give permission or remove it"
    ) from error


def read_image(path: Path | str, max_pixels: int = MAX_PIXELS) -> np.ndarray:
    """Read a picture as it is displayed: (h, w, 3) uint8 RGB, contiguous, writeable, EXIF orientation applied.

    JPEG, PNG, WebP, BMP, TIFF (first page) or GIF (first frame), recognised by content. The reason in an
    `UnreadableImageError`: missing, empty, damaged, truncated, of more than `max_pixels`, or no picture.
    """
    return _decode(path, max_pixels=max_pixels)[0]


def read_enough(path: Path | str, longest: int = 2 * SEEN) -> tuple[np.ndarray, tuple[int, int]]:
    """As `read_image`, for pictures that are scaled down anyway; and (height, width) of the whole picture.

    A JPEG file is decoded at the smallest half, quarter or eighth whose longer side has at least `longest` pixels, for
    a fraction of the time and memory.
    """
    return _decode(path, longest)


def read_small_image(path: Path | str, longest: int) -> np.ndarray:
    """As `read_image`, for display: with a longest side of about `longest` or less."""
    return _resize_roughly(_decode(path, CLOSE_ENOUGH[0] * longest)[0], longest)


def read_light(path: Path | str, longest: int) -> tuple[np.ndarray, tuple[int, int]]:
    """As `read_small_image`, brightness alone, (h, w) uint8; and (height, width) of the whole picture."""
    light, size = _decode(path, CLOSE_ENOUGH[0] * longest, "L")
    return _resize_roughly(light, longest), size


def _decode(
    path: Path | str, longest: float | None = None, mode: str = "RGB", max_pixels: int = MAX_PIXELS
) -> tuple[np.ndarray, tuple[int, int]]:
    """Pixels of a picture, of a JPEG file at a fraction of its size; and (height, width) of the whole picture."""
    with open_picture(path, max_pixels) as picture:
        size = _read_size(picture)
        if longest is not None and picture.format == "JPEG" and picture.mode in ("L", "RGB"):
            width, height = (ceil(side * longest / max(size)) for side in picture.size)
            picture.draft("L" if picture.mode == "L" else mode, (width, height))
        upright = orient(picture)
        if mode == "RGB" or upright.mode != "L" or upright.has_transparency_data:
            upright = _convert_to_rgb(upright).convert(mode)
        return np.array(upright, dtype=np.uint8, order="C"), size


def _resize_roughly(image: np.ndarray, longest: int) -> np.ndarray:
    return image if max(image.shape) <= CLOSE_ENOUGH[1] * longest else resize_image(image, longest)


def read_image_size(path: Path | str) -> tuple[int, int]:
    """(height, width) of the picture as it is displayed; most formats have it in their header."""
    with open_picture(path, max_pixels=np.iinfo(np.int64).max) as picture:
        return _read_size(picture)


def _read_size(picture: Image.Image) -> tuple[int, int]:
    width, height = picture.size
    return (width, height) if read_orientation(picture) >= 5 else (height, width)


def hash_file(path: Path | str) -> str:
    """SHA-256 of the file's bytes, in hexadecimal; of a view, of these and the view's name."""
    path, view = split_view(Path(path))
    check_regular_file(path)
    try:
        with path.open("rb") as file:
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
        values = convert_to_bytes(np.asarray(picture), may_be_12_bit=picture.format == "TIFF")
        return Image.fromarray(values).convert("RGB")
    if picture.has_transparency_data:
        picture = picture.convert("RGBA")
        picture = Image.alpha_composite(Image.new("RGBA", picture.size, "white"), picture)
    return picture.convert("RGB")


def read_picture(path: Path, longest: int) -> np.ndarray:
    """(h, w, 3) uint8: an image file, its longer side at most `longest` pixels."""
    return resize_image(read_enough(path, max(longest, 2 * SEEN))[0], longest)
