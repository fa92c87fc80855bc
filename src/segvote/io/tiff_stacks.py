"""TIFF files that Pillow has no mode for, or with several pages or channels: what they hold, one slice of it as bytes.

Axes are those of tifffile: ``C`` (a page each) and ``S`` (within a page) are channels; all others besides ``Y`` and
``X`` (depth, time, position, plain pages) count as slices, in the order of the file.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from segvote.errors import BadInputError
from segvote.io.files import open_regular
from segvote.io.picture_formats import MAXIMUM, PERCENTILE, PictureView, find_range

SIGNATURES = (b"II*\0", b"MM\0*", b"II+\0", b"MM\0+")
ORIENTATION_TAG = 274
MAX_SAMPLE_BYTES = 600_000_000  # of the decoded samples of a page

SPREAD = (0.5, 99.5)  # percentiles
# Photometric interpretations whose samples are one colour, with alpha or without: RGB, palette, CMYK, YCbCr, Lab.
COLOUR = (2, 3, 5, 6, 8)

# Without a handler its remarks about odd files would reach the terminal.
logging.getLogger("tifffile").addHandler(logging.NullHandler())


@dataclass(frozen=True)
class StackLayout:
    """How many slices a file has, and how many channels each of them; colour counts as one."""

    n_slices: int = 1
    n_channels: int = 1


def measure_stack(path: Path) -> StackLayout:
    """Slices and channels from the headers alone; one of each where they cannot be read, which reading then tells."""
    import tifffile  # slow to import and rarely needed

    try:
        with open_regular(path) as opened, tifffile.TiffFile(opened, name=path.name) as file:
            grid = _number_pages(file.series[0])
            return StackLayout(len(grid), grid.shape[1] if grid.shape[1] > 1 else _count_samples(file.pages.first))
    except Exception:  # a damaged file raises anything; the same file is refused with a reason when it is read
        return StackLayout()


def open_tiff_view(path: Path, view: PictureView, max_pixels: int) -> Image.Image:
    """A page, or the maximum over all, with the channels and the window that were asked for."""
    import tifffile

    with tifffile.TiffFile(path) as file:
        series, page = file.series[0], file.pages.first
        _check_pixels(page, max_pixels)
        grid = _number_pages(series)
        read = _PageReader(path, series)
        if view.page == MAXIMUM:
            samples = read.read_slice(grid[0], view.channels)
            for row in grid[1:]:
                np.maximum(samples, read.read_slice(row, view.channels), out=samples)
        else:
            samples = read.read_slice(grid[_check_page(view.page, len(grid))], view.channels)
        return _make_picture(show_window(samples, view.window), page)


def open_unusual_tiff(path: Path, max_pixels: int) -> Image.Image:
    """First page of a TIFF file as a picture of bytes: colour in floats, double precision, many channels and so on."""
    import tifffile

    with tifffile.TiffFile(path) as file:
        page = file.pages.first
        _check_pixels(page, max_pixels)
        _check_bytes(page.nbytes)
        samples = _order_channels(page.asarray(), page.axes)
        return _make_picture(scale_to_bytes(pick_channels(samples, ()) if samples.ndim == 3 else samples), page)


def _make_picture(pixels: np.ndarray, page: Any) -> Image.Image:
    picture = Image.fromarray(np.ascontiguousarray(pixels))
    picture.getexif()[ORIENTATION_TAG] = int(page.tags.valueof(ORIENTATION_TAG, 1))
    return picture


def has_tiff_signature(path: Path) -> bool:
    """Whether the file begins as TIFF and BigTIFF files do."""
    with path.open("rb") as file:
        return file.read(4) in SIGNATURES


class _PageReader:
    """Reads single pages where the file has them, else once the whole series."""

    def __init__(self, path: Path, series: Any) -> None:
        self._path, self._series = path, series
        self._whole: np.ndarray | None = None

    def read_slice(self, pages: np.ndarray, channels: tuple[int, ...]) -> np.ndarray:
        """(h, w) or (h, w, 1 to 3) of one slice; `pages` are those of its channels."""
        if len(pages) == 1:
            samples = self._read_page(int(pages[0]))
            return pick_channels(samples, channels) if samples.ndim == 3 else samples
        # Of channels in pages of their own the first is read by default, as any viewer does.
        planes = [self._read_page(int(pages[number])) for number in _check_channels(channels or (0,), len(pages))]
        return _lay_side_by_side(planes)

    def _read_page(self, number: int) -> np.ndarray:
        if len(self._series.pages) > number and len(self._series.pages) == _count_pages(self._series):
            page = self._series.pages[number]
            _check_bytes(page.nbytes)
            try:
                return _order_channels(page.asarray(), self._series.keyframe.axes)
            except ValueError:  # a compression that Pillow knows and tifffile, by itself, does not: LZW, JPEG
                return self._read_by_pillow(page.index)
        if self._whole is None:
            _check_bytes(self._series.nbytes)
            shape = self._series.shape[-len(_get_page_axes(self._series)) :]
            self._whole = self._series.asarray().reshape(-1, *shape)
        return _order_channels(self._whole[number], _get_page_axes(self._series))

    def _read_by_pillow(self, number: int) -> np.ndarray:
        with Image.open(self._path, formats=("TIFF",)) as picture:
            picture.seek(number)
            return np.asarray(picture if picture.mode[0] in "LIFR" else picture.convert("RGB"))


def _get_page_axes(series: Any) -> str:
    """Axes within one page: the last two, or three with samples."""
    axes = series.axes
    return axes[-3:] if axes.endswith("YXS") or axes[-3:] == "SYX" else axes[-2:]


def _count_pages(series: Any) -> int:
    return int(np.prod(series.shape[: -len(_get_page_axes(series))], dtype=np.int64))


def _number_pages(series: Any) -> np.ndarray:
    """(n_slices, n_channels): number of the page that holds a channel of a slice."""
    n_inside = len(_get_page_axes(series))
    leading, axes = series.shape[:-n_inside], series.axes[:-n_inside]
    numbers = np.arange(np.prod(leading, dtype=np.int64)).reshape(leading)
    if "C" not in axes:
        return numbers.reshape(-1, 1)
    return np.moveaxis(numbers, axes.index("C"), -1).reshape(-1, leading[axes.index("C")])


def _count_samples(page: Any) -> int:
    """Channels of a page that are not one colour."""
    n_samples = int(page.samplesperpixel)
    is_colour = int(page.photometric) in COLOUR and n_samples <= 4
    return 1 if is_colour else n_samples


def _check_page(page: str, n_slices: int) -> int:
    number = int(page or 0)
    if number >= n_slices:
        raise BadInputError(f"has {n_slices} pages, page {number} (from 0) was asked for; annotate again")
    return number


def _check_channels(channels: tuple[int, ...], n_channels: int) -> tuple[int, ...]:
    if max(channels) >= n_channels:
        raise BadInputError(
            f"has {n_channels} channels, numbered from 0; channel {max(channels)} was asked for, change --channels"
        )
    return channels


def _check_pixels(page: Any, max_pixels: int) -> None:
    if page.imagelength * page.imagewidth > max_pixels:
        raise BadInputError(f"too large, {page.imagewidth} x {page.imagelength} where at most {max_pixels} are read")


def _check_bytes(n_bytes: int) -> None:
    if n_bytes > MAX_SAMPLE_BYTES:
        raise BadInputError(f"too large, {n_bytes} bytes of samples where at most {MAX_SAMPLE_BYTES} are read")


def _order_channels(samples: np.ndarray, axes: str) -> np.ndarray:
    """A page with its channels last: (h, w) or (h, w, n)."""
    if samples.ndim == 3 and axes.startswith("S"):  # planes one after the other
        samples = np.moveaxis(samples, 0, -1)
    if samples.ndim not in (2, 3):
        raise BadInputError(f"expected one flat page, got samples of shape {samples.shape}")
    return samples


def pick_channels(samples: np.ndarray, channels: tuple[int, ...]) -> np.ndarray:
    """Channels of an (h, w, n) array as colour: the first three where none are named."""
    n_channels = samples.shape[2]
    wanted = _check_channels(channels, n_channels) if channels else tuple(range(3 if n_channels >= 3 else 1))
    return _lay_side_by_side([samples[..., number] for number in wanted])


def _lay_side_by_side(planes: list[np.ndarray]) -> np.ndarray:
    """One plane is grey, two leave blue black."""
    if len(planes) == 1:
        return planes[0].copy()
    return np.stack([*planes, *[np.zeros_like(planes[0])] * (3 - len(planes))], axis=-1)


def show_window(values: np.ndarray, window: str) -> np.ndarray:
    """Values (h, w) or (h, w, n) as bytes; those that are bytes stay as they are. `window`: see `Reading`."""
    if values.dtype == np.uint8:
        return values
    if window == PERCENTILE:
        planes = [values] if values.ndim == 2 else list(np.moveaxis(values, -1, 0))
        shown = [_stretch(plane, *np.nanpercentile(plane, SPREAD)) for plane in planes]
        return shown[0] if values.ndim == 2 else np.stack(shown, axis=-1)
    if (limits := find_range(window)) is not None:
        return _stretch(values, *limits)
    is_12_bit = values.dtype == np.uint16 and values.max(initial=0) < 4096
    return scale_to_bytes(values, n_bits=12 if is_12_bit else 16)


def _stretch(values: np.ndarray, low: float, high: float) -> np.ndarray:
    share = (values.astype(np.float32) - low) / max(high - low, 1e-12)
    return np.round(255 * np.nan_to_num(np.clip(share, 0, 1))).astype(np.uint8)


# Pixels that are not bytes --------------------------------------------------------------------------------------------

_N_AT_ONCE = 1 << 20  # values that are widened at the same time


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
