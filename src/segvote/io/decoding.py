"""Decodes untrusted picture files; all pictures are read through this module.

`open_picture` admits regular files of the known formats below a size limit and turns every exception of a decoder into
`UnreadableImageError` with a reason of a few words. A FIFO, a socket or a device is refused before it is opened. TIFF
pages that Pillow has no mode for, and pages other than the first, are read by tifffile.
"""

from __future__ import annotations

import contextlib
import logging
import stat
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image, UnidentifiedImageError

from segvote.errors import BadInputError, UnreadableImageError
from segvote.io.objects import fetch_placeholder
from segvote.io.picture_formats import BITS, PictureView, list_formats, split_view

MAX_PIXELS = 100_000_000
MAX_SAMPLE_BYTES = 600_000_000  # of the decoded samples of a TIFF page
SPREAD = (0.5, 99.5)  # percentiles

_TIFF_SIGNATURES = (b"II*\0", b"MM\0*", b"II+\0", b"MM\0+")
_ORIENTATION_TAG = 274
_TURNS = {
    2: Image.Transpose.FLIP_LEFT_RIGHT,
    3: Image.Transpose.ROTATE_180,
    4: Image.Transpose.FLIP_TOP_BOTTOM,
    5: Image.Transpose.TRANSPOSE,
    6: Image.Transpose.ROTATE_270,
    7: Image.Transpose.TRANSVERSE,
    8: Image.Transpose.ROTATE_90,
}

# Remarks about odd files would reach the terminal. Not `catch_warnings`, which leaks between threads.
for _library in ("PIL", "tifffile"):
    logging.getLogger(_library).addHandler(logging.NullHandler())
warnings.filterwarnings("ignore", module=r"PIL\.")


@contextlib.contextmanager
def open_picture(path: Path | str, max_pixels: int = MAX_PIXELS) -> Iterator[Image.Image]:
    """Open a picture for reading; the pixels are decoded when first touched inside the block.

    An error before or inside the block is an `UnreadableImageError` with the path and the reason; so are more than
    `max_pixels` (width times height). Pillow's own limit, about 179 million, holds besides.
    """
    path, view = split_view(Path(path))
    check_regular_file(path)
    try:
        with _open(path, view, max_pixels) as picture:
            _check_pixels(picture.size, max_pixels)
            yield picture
    except UnreadableImageError:
        raise
    except Exception as error:  # decoders raise anything from SyntaxError to struct.error on damaged bytes
        raise UnreadableImageError(f"{path}: {_describe(error)}") from error


def check_regular_file(path: Path) -> None:
    """Raise `UnreadableImageError` unless `path` is a regular file with at least one byte."""
    fetch_placeholder(path)
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
        orientation = picture.getexif().get(_ORIENTATION_TAG, 1)
    except Exception:  # a damaged EXIF block is no reason to lose the picture
        return 1
    return orientation if orientation in _TURNS else 1


def orient(picture: Image.Image) -> Image.Image:
    """The picture as it is displayed: EXIF orientation applied."""
    orientation = read_orientation(picture)
    return picture if orientation == 1 else picture.transpose(_TURNS[orientation])


def _open(path: Path, view: PictureView, max_pixels: int) -> Image.Image:
    with path.open("rb") as file:
        is_tiff = file.read(4) in _TIFF_SIGNATURES
    if is_tiff and str(view):  # Pillow cuts 16-bit colour to eight bits
        return _open_tiff_page(path, view, max_pixels)
    try:
        picture = Image.open(path, formats=list_formats())
    except UnidentifiedImageError:
        if not is_tiff:
            raise
        return _open_tiff_page(path, view, max_pixels)
    if view.window == BITS or not picture.mode.startswith(("I", "F")):
        return picture
    with picture:
        _check_pixels(picture.size, max_pixels)
        return Image.fromarray(convert_to_bytes(np.asarray(orient(picture)), view.window))


def _check_pixels(size: tuple[int, int], max_pixels: int) -> None:
    width, height = size
    if width * height > max_pixels:
        raise BadInputError(
            f"too large, {width} x {height} pixels where at most {max_pixels} are read; make it smaller"
        )


def _describe(error: Exception) -> str:
    """A few words for the reason; the decoder's own where nothing better is known."""
    text = str(error)
    if isinstance(error, FileNotFoundError):
        return "the file does not exist"
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


# TIFF ----------------------------------------------------------------------------------------------------------------


def count_pages(path: Path) -> int:
    """Pages of one size at the beginning of a TIFF file; 1 where they cannot be counted."""
    import tifffile  # slow to import and rarely needed

    try:
        check_regular_file(path)
        with tifffile.TiffFile(path) as file:
            return len(file.series[0].pages)
    except Exception:  # a damaged file raises anything; the same file is refused with a reason when it is read
        return 1


def count_frames(path: Path) -> int:
    """Frames of an animated GIF, PNG or WebP file; 1 where they cannot be counted."""
    try:
        with open_picture(path) as picture:
            return int(getattr(picture, "n_frames", 1))
    except Exception:  # a damaged file raises anything; the same file is refused with a reason when it is read
        return 1


def _open_tiff_page(path: Path, view: PictureView, max_pixels: int) -> Image.Image:
    """A page as a picture of bytes, of many channels the first three."""
    import tifffile

    with tifffile.TiffFile(path) as file:
        if view.number >= len(file.pages):
            raise BadInputError(f"has {len(file.pages)} pages, page {view.number} (from 0) was asked for")
        page: Any = file.pages[view.number]
        _check_pixels((page.imagewidth, page.imagelength), max_pixels)
        if page.nbytes > MAX_SAMPLE_BYTES:
            raise BadInputError(f"too large, {page.nbytes} bytes of samples where at most {MAX_SAMPLE_BYTES} are read")
        try:
            samples, axes = page.asarray(), page.axes
        except ValueError:  # a compression that Pillow knows and tifffile, by itself, does not: LZW, JPEG
            samples, axes = _read_by_pillow(path, view.number), "YXS"
        pixels = convert_to_bytes(_pick_channels(samples, axes), view.window, may_be_12_bit=True)
        picture = Image.fromarray(np.ascontiguousarray(pixels))
        picture.getexif()[_ORIENTATION_TAG] = int(page.tags.valueof(_ORIENTATION_TAG, 1))
        return picture


def _pick_channels(samples: np.ndarray, axes: str) -> np.ndarray:
    """A page as (h, w) or (h, w, 3): its only channel, the first of two, or the first three."""
    if samples.ndim not in (2, 3):
        raise BadInputError(f"expected one flat page, got samples of shape {samples.shape}")
    if samples.ndim == 3 and axes.startswith("S"):  # planes one after the other
        samples = np.moveaxis(samples, 0, -1)
    return samples if samples.ndim == 2 else samples[..., :3] if samples.shape[2] >= 3 else samples[..., 0]


def _read_by_pillow(path: Path, number: int) -> np.ndarray:
    with Image.open(path, formats=("TIFF",)) as picture:
        picture.seek(number)
        return np.asarray(picture if picture.mode[0] in "LIFR" else picture.convert("RGB"))


# Values that are not bytes -------------------------------------------------------------------------------------------


def convert_to_bytes(values: np.ndarray, window: str = BITS, may_be_12_bit: bool = False) -> np.ndarray:
    """Values of any range and shape as uint8, one rule for all channels; bytes stay as they are.

    The window of percentiles is that of each channel. Otherwise unsigned 16-bit values keep their high byte, or count
    as 12-bit where that is possible and all fit. Other values within [0, 255] stay as they are, floats within [0, 1]
    are multiplied by 255, and anything else is stretched from its smallest to its largest finite value. NaN and
    negative infinity come out black.
    """
    if values.dtype == np.uint8:
        return values
    if values.dtype.kind not in "buif":
        raise BadInputError(f"expected pixels that are numbers, got {values.dtype}; save the picture as 8 or 16 bit")
    if window != BITS:
        low, high = np.nanpercentile(values, SPREAD, axis=(0, 1))
        return _stretch(values.astype(np.float32), low, np.maximum(high - low, 1e-12))
    if values.dtype == np.uint16:
        return (values >> (4 if may_be_12_bit and values.max(initial=0) < 4096 else 8)).astype(np.uint8)
    wide = values.astype(np.float64)
    low, high = _find_range(wide, values.dtype.kind in "fb")
    return _stretch(wide, low, high - low)


def _find_range(values: np.ndarray, may_be_shares: bool) -> tuple[float, float]:
    """The values shown as 0 and 255."""
    finite = values[np.isfinite(values)]
    low, high = float(finite.min(initial=np.inf)), float(finite.max(initial=-np.inf))
    if low >= 0 and high <= 1 and may_be_shares:
        return 0.0, 1.0
    if low >= 0 and high <= 255:
        return 0.0, 255.0
    return low, high if high > low else low + 1.0


def _stretch(values: np.ndarray, low: Any, span: Any) -> np.ndarray:
    with np.errstate(invalid="ignore", over="ignore"):
        shares = np.clip((values - low) / span, 0, 1)
    return np.round(255 * np.nan_to_num(shares)).astype(np.uint8)
