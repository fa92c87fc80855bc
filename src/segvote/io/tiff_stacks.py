"""TIFF pages that Pillow has no mode for, and pixels that are not bytes: floats, 16 bits, many channels."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from segvote.errors import BadInputError
from segvote.io.files import open_regular
from segvote.io.picture_formats import BITS, PictureView

SIGNATURES = (b"II*\0", b"MM\0*", b"II+\0", b"MM\0+")
ORIENTATION_TAG = 274
MAX_SAMPLE_BYTES = 600_000_000  # of the decoded samples of a page

SPREAD = (0.5, 99.5)  # percentiles
_N_AT_ONCE = 1 << 20  # values that are widened at the same time

# Without a handler its remarks about odd files would reach the terminal.
logging.getLogger("tifffile").addHandler(logging.NullHandler())


def count_pages(path: Path) -> int:
    """Pages of one size at the beginning of a file; 1 where they cannot be counted, which reading then tells."""
    import tifffile  # slow to import and rarely needed

    try:
        with open_regular(path) as opened, tifffile.TiffFile(opened, name=path.name) as file:
            return len(file.series[0].pages)
    except Exception:  # a damaged file raises anything; the same file is refused with a reason when it is read
        return 1


def open_tiff_page(path: Path, view: PictureView, max_pixels: int) -> Image.Image:
    """A page as a picture of bytes, of many channels the first three."""
    import tifffile

    with tifffile.TiffFile(path) as file:
        if view.number >= len(file.pages):
            raise BadInputError(f"has {len(file.pages)} pages, page {view.number} (from 0) was asked for")
        page: Any = file.pages[view.number]
        if page.imagelength * page.imagewidth > max_pixels:
            raise BadInputError(
                f"too large, {page.imagewidth} x {page.imagelength} where at most {max_pixels} are read"
            )
        if page.nbytes > MAX_SAMPLE_BYTES:
            raise BadInputError(f"too large, {page.nbytes} bytes of samples where at most {MAX_SAMPLE_BYTES} are read")
        try:
            samples, axes = page.asarray(), page.axes
        except ValueError:  # a compression that Pillow knows and tifffile, by itself, does not: LZW, JPEG
            samples, axes = _read_by_pillow(path, view.number), "YXS"
        pixels = show_window(_pick_channels(samples, axes), view.window)
        picture = Image.fromarray(np.ascontiguousarray(pixels))
        picture.getexif()[ORIENTATION_TAG] = int(page.tags.valueof(ORIENTATION_TAG, 1))
        return picture


def has_tiff_signature(path: Path) -> bool:
    """Whether the file begins as TIFF and BigTIFF files do."""
    with path.open("rb") as file:
        return file.read(4) in SIGNATURES


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


def show_window(values: np.ndarray, window: str) -> np.ndarray:
    """Values (h, w) or (h, w, n) as bytes; those that are bytes stay as they are. See `WINDOWS` for `window`."""
    if values.dtype == np.uint8:
        return values
    if window == BITS:
        is_12_bit = values.dtype == np.uint16 and values.max(initial=0) < 4096
        return scale_to_bytes(values, n_bits=12 if is_12_bit else 16)
    low, high = np.nanpercentile(values, SPREAD, axis=(0, 1))
    share = (values.astype(np.float32) - low) / np.maximum(high - low, 1e-12)
    return np.round(255 * np.nan_to_num(np.clip(share, 0, 1))).astype(np.uint8)


def scale_to_bytes(values: np.ndarray, n_bits: int = 16) -> np.ndarray:
    """Values of any range and shape as uint8, one rule for all channels.

    Unsigned 16-bit values keep the top eight of the `n_bits` in use. Other values within [0, 255] stay as they are,
    floats within [0, 1] are multiplied by 255, and anything else is stretched from its smallest to its largest finite
    value. NaN and negative infinity come out black.
    """
    if values.dtype.kind not in "buif":
        raise BadInputError(f"expected pixels that are numbers, got {values.dtype}; save the picture as 8 or 16 bit")
    if values.dtype.kind == "u" and values.dtype.itemsize == 2:
        return (values >> (n_bits - 8)).astype(np.uint8)
    low, high = _find_range(values)
    scaled = np.empty(values.size, np.uint8)
    for start, block in _cut(values):
        scaled[start : start + len(block)] = _scale(block, low, high)
    return scaled.reshape(values.shape)


def _cut(values: np.ndarray) -> Iterator[tuple[int, np.ndarray]]:
    """Pieces in order: a hundred million values in double precision, several times over, would fill the memory."""
    flat = values.reshape(-1)
    return ((start, flat[start : start + _N_AT_ONCE]) for start in range(0, flat.size, _N_AT_ONCE))


def _scale(block: np.ndarray, low: float, high: float) -> np.ndarray:
    # Halves first: the distance between the ends of double precision is beyond it.
    with np.errstate(invalid="ignore", over="ignore"):
        share = (block.astype(np.float64) / 2 - low / 2) / (high / 2 - low / 2)
    return np.round(np.nan_to_num(np.clip(255 * share, 0, 255))).astype(np.uint8)


def _find_range(values: np.ndarray) -> tuple[float, float]:
    """The values shown as 0 and 255."""
    low, high = np.inf, -np.inf
    for _, block in _cut(values):
        finite = block[np.isfinite(block)].astype(np.float64)
        low, high = min(low, float(finite.min(initial=np.inf))), max(high, float(finite.max(initial=-np.inf)))
    if low >= 0 and high <= 1 and values.dtype.kind in "fb":
        return 0.0, 1.0
    if low >= 0 and high <= 255:
        return 0.0, 255.0
    return low, high if high > low else low + 1.0
