"""Decodes untrusted picture files; all pictures are read through this module.

`open_picture` admits regular files of the known formats below a size limit, keeps every warning and every decoder's
exception inside, and turns them into `UnreadableImageError` with a reason of a few words. Nothing here hangs: a FIFO, a
socket or a device is refused before it is opened.
"""

from __future__ import annotations

import contextlib
import logging
import os
import stat
import struct
import threading
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image, UnidentifiedImageError

from segvote.errors import BadInputError, UnreadableImageError
from segvote.io.picture_formats import BITS, PictureView, list_formats, split_view
from segvote.io.tiff_stacks import (
    ORIENTATION_TAG,
    has_tiff_signature,
    open_tiff_view,
    open_unusual_tiff,
    pick_channels,
    show_window,
)

MAX_PIXELS = 100_000_000

_TURNS = {
    2: Image.Transpose.FLIP_LEFT_RIGHT,
    3: Image.Transpose.ROTATE_180,
    4: Image.Transpose.FLIP_TOP_BOTTOM,
    5: Image.Transpose.TRANSPOSE,
    6: Image.Transpose.ROTATE_270,
    7: Image.Transpose.TRANSVERSE,
    8: Image.Transpose.ROTATE_90,
}

# Without a handler Pillow's log messages about odd files would reach the terminal.
logging.getLogger("PIL").addHandler(logging.NullHandler())


@contextlib.contextmanager
def open_picture(path: Path | str, max_pixels: int = MAX_PIXELS) -> Iterator[Image.Image]:
    """Open a picture for reading; the pixels are decoded when first touched inside the block.

    Anything that goes wrong before or inside the block is an `UnreadableImageError` with the path and the reason, more
    than `max_pixels` (width times height) too; Pillow's own limit, about 179 million, holds besides.
    """
    path, view = split_view(Path(path))
    check_regular_file(path)
    try:
        with _QUIET, _open_view(path, view, max_pixels) as picture:
            _check_pixels(path, picture.size, max_pixels)
            yield picture
    except UnreadableImageError:
        raise
    except Exception as error:  # decoders raise anything from SyntaxError to struct.error on damaged bytes
        raise UnreadableImageError(f"{path}: {_describe(error)}") from error


def check_regular_file(path: Path) -> None:
    """Raise `UnreadableImageError` unless `path` is a regular file with at least one byte."""
    try:
        status = path.stat()
    except OSError as error:
        raise UnreadableImageError(f"{path}: {_describe(error)}") from error
    except ValueError as error:  # a null character in the name
        raise UnreadableImageError(f"{path!r}: not a valid file name") from error
    if stat.S_ISDIR(status.st_mode):
        raise UnreadableImageError(f"{path}: is a folder, expected an image file")
    if not stat.S_ISREG(status.st_mode):
        raise UnreadableImageError(f"{path}: is not a regular file")
    if status.st_size == 0:
        raise UnreadableImageError(f"{path}: the file is empty")


def read_orientation(picture: Image.Image) -> int:
    """EXIF orientation 1 .. 8 that is still to be applied to `picture`; 1 where there is none or it is damaged."""
    return _read_orientation(picture, type(picture).getexif)


def peek_orientation(picture: Image.Image) -> int:
    """The same from the header alone, without decoding the pixels."""
    # For a PNG without EXIF in front Pillow decodes everything, in case there is some behind the pixels.
    is_in_front = picture.format == "PNG" and not _has_text_behind_pixels(picture)
    return _read_orientation(picture, Image.Image.getexif if is_in_front else type(picture).getexif)


def _read_orientation(picture: Image.Image, get_exif: Callable[[Any], Image.Exif]) -> int:
    if picture.format == "TIFF":  # Pillow turns TIFF pages itself while decoding and swaps their size when opening
        return 1
    try:
        orientation = get_exif(picture).get(ORIENTATION_TAG, 1)
    except Exception:  # a damaged EXIF block is no reason to lose the picture
        return 1
    return orientation if orientation in _TURNS else 1


def _has_text_behind_pixels(picture: Image.Image) -> bool:
    with open(picture.filename, "rb") as file:  # type: ignore[attr-defined]
        file.seek(8)
        pixels_seen = False
        while len(header := file.read(8)) == 8:
            length, kind = struct.unpack(">I4s", header)
            pixels_seen |= kind == b"IDAT"
            if pixels_seen and kind in (b"eXIf", b"iTXt", b"tEXt", b"zTXt"):
                return True
            if kind == b"IEND":  # what lies behind it is no part of the picture, and may have no end
                return False
            file.seek(length + 4, os.SEEK_CUR)
    return False


def orient(picture: Image.Image) -> Image.Image:
    """The picture as it is displayed: EXIF orientation applied."""
    orientation = read_orientation(picture)
    return picture if orientation == 1 else picture.transpose(_TURNS[orientation])


def _open_view(path: Path, view: PictureView, max_pixels: int) -> Image.Image:
    if not str(view):
        return _open(path, max_pixels)
    if has_tiff_signature(path):
        return open_tiff_view(path, view, max_pixels)
    with _open(path, max_pixels) as whole:
        _check_pixels(path, whole.size, max_pixels)
        return _view_bands(orient(whole), view)


def _view_bands(picture: Image.Image, view: PictureView) -> Image.Image:
    """Channels and window of a picture that is no TIFF file; grey pictures have one channel, which is all of them."""
    if picture.mode.startswith(("I", "F")) and view.window != BITS:
        return Image.fromarray(show_window(np.asarray(picture), view.window))
    if not view.channels or picture.mode[0] in "1LIF":
        upright = picture.copy()
        upright.info.pop("exif", None)  # it is turned already
        return upright
    colour = picture if picture.mode in ("RGB", "RGBA", "CMYK") else picture.convert("RGB")
    return Image.fromarray(np.ascontiguousarray(pick_channels(np.asarray(colour), view.channels)))


def _open(path: Path, max_pixels: int) -> Image.Image:
    try:
        return Image.open(path, formats=list_formats())
    except UnidentifiedImageError:
        if not has_tiff_signature(path):
            raise
        return open_unusual_tiff(path, max_pixels)


def _check_pixels(path: Path, size: tuple[int, int], max_pixels: int) -> None:
    width, height = size
    if width * height > max_pixels:
        raise UnreadableImageError(
            f"{path}: too large, {width} x {height} pixels where at most {max_pixels} are read; make it smaller"
        )


def _describe(error: Exception) -> str:
    """A few words for the reason; the decoder's own where nothing better is known."""
    text = str(error)
    if isinstance(error, FileNotFoundError):
        return "the file does not exist"
    if isinstance(error, PermissionError):
        return "no permission to read it"
    if isinstance(error, UnidentifiedImageError):
        return f"not a picture of a known format ({', '.join(list_formats())})"
    if isinstance(error, Image.DecompressionBombError):
        return "too large: it would unpack to more pixels than are read; make it smaller"
    if isinstance(error, BadInputError):
        return text
    if isinstance(error, MemoryError):
        return "not enough memory to decode it"
    if isinstance(error, OSError) and error.strerror:
        return f"cannot be opened ({error.strerror})"
    if "truncated" in text.lower() or isinstance(error, EOFError):
        return "the file is truncated"
    return f"damaged or of an unknown kind ({text or type(error).__name__})"


class _Quiet:
    """Silence warnings while any thread is inside; `warnings.catch_warnings` alone leaks when threads interleave."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._n_inside = 0
        self._caught: warnings.catch_warnings | None = None

    def __enter__(self) -> None:
        with self._lock:
            if self._n_inside == 0:
                self._caught = warnings.catch_warnings()
                self._caught.__enter__()
                warnings.simplefilter("ignore")
            self._n_inside += 1

    def __exit__(self, *exception: object) -> None:
        with self._lock:
            self._n_inside -= 1
            if self._n_inside == 0 and self._caught is not None:
                self._caught.__exit__(None, None, None)


_QUIET = _Quiet()
