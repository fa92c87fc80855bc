"""Decodes untrusted picture files; all pictures are read through this module.

`open_picture` admits regular files of the known formats below a size limit, keeps every warning and every decoder's
exception inside, and turns them into `UnreadableImageError` with a reason of a few words. Nothing here hangs: a FIFO, a
socket or a device is refused before it is opened.
"""

from __future__ import annotations

import contextlib
import logging
import stat
import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from PIL import Image, UnidentifiedImageError

from segvote.errors import BadInputError, UnreadableImageError
from segvote.io.picture_formats import BITS, PictureView, list_formats, split_view
from segvote.io.tiff_stacks import ORIENTATION_TAG, has_tiff_signature, open_tiff_page, show_window

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

# Pillow's remarks about odd files would reach the terminal. Not `catch_warnings`, which leaks between threads.
logging.getLogger("PIL").addHandler(logging.NullHandler())
warnings.filterwarnings("ignore", module=r"PIL\.")


@contextlib.contextmanager
def open_picture(path: Path | str, max_pixels: int = MAX_PIXELS) -> Iterator[Image.Image]:
    """Open a picture for reading; the pixels are decoded when first touched inside the block.

    Anything that goes wrong before or inside the block is an `UnreadableImageError` with the path and the reason, more
    than `max_pixels` (width times height) too; Pillow's own limit, about 179 million, holds besides.
    """
    path, view = split_view(Path(path))
    check_regular_file(path)
    try:
        try:
            opened = _open_view(path, view, max_pixels) if str(view) else Image.open(path, formats=list_formats())
        except UnidentifiedImageError:
            if not has_tiff_signature(path):
                raise
            opened = open_tiff_page(path, view, max_pixels)
        with opened as picture:
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
    if picture.format == "TIFF":  # Pillow turns TIFF pages itself while decoding and swaps their size when opening
        return 1
    try:
        orientation = picture.getexif().get(ORIENTATION_TAG, 1)
    except Exception:  # a damaged EXIF block is no reason to lose the picture
        return 1
    return orientation if orientation in _TURNS else 1


def orient(picture: Image.Image) -> Image.Image:
    """The picture as it is displayed: EXIF orientation applied."""
    orientation = read_orientation(picture)
    return picture if orientation == 1 else picture.transpose(_TURNS[orientation])


def _open_view(path: Path, view: PictureView, max_pixels: int) -> Image.Image:
    if has_tiff_signature(path):  # Pillow cuts 16-bit colour to eight bits
        return open_tiff_page(path, view, max_pixels)
    picture = Image.open(path, formats=list_formats())
    if view.window == BITS or not picture.mode.startswith(("I", "F")):
        return picture
    with picture:
        _check_pixels(path, picture.size, max_pixels)
        return Image.fromarray(show_window(np.asarray(orient(picture)), view.window))


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
