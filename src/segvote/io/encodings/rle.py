"""Run lengths: a mask as the lengths of its alternating runs, starting with background.

COCO counts down the columns and may pack the counts into a text of 6-bit characters; CVAT counts along the rows of a
crop. Label Studio's brush holds runs of the RGBA bytes of a picture, packed bit by bit. All functions are exact
inverses of each other, and a damaged input raises `BadInputError` instead of giving a wrong mask (pycocotools 2.0.11
fills up counts that are too short with whatever is in memory).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import cv2
import numpy as np

from segvote.errors import BadInputError
from segvote.io.decoding import MAX_PIXELS

_N_BITS = 5  # payload of one character
_MORE = 1 << _N_BITS  # set in every character of a number but the last
_BASE = 48  # the character "0"


def count_runs(pixels: np.ndarray) -> np.ndarray:
    """(n,) bool to the lengths of its runs, the first one background (0 when the first pixel is object)."""
    edges = np.flatnonzero(pixels[1:] != pixels[:-1]) + 1
    lengths = np.diff(edges, prepend=0, append=len(pixels))
    return np.concatenate([[0], lengths]) if len(pixels) and pixels[0] else lengths


def fill_runs(counts: Sequence[int] | np.ndarray, n_pixels: int) -> np.ndarray:
    """Run lengths to (n_pixels,) bool; the inverse of `count_runs`."""
    lengths = np.asarray(counts, dtype=np.int64)
    if (lengths < 0).any() or (lengths > n_pixels).any() or lengths.sum() != n_pixels:
        raise BadInputError(f"run lengths must be positive and add up to {n_pixels} pixels; export the mask again")
    return np.repeat(np.arange(len(lengths)) % 2 == 1, lengths)


def encode_rle(mask: np.ndarray) -> dict[str, object]:
    """A (h, w) bool mask as COCO writes it: ``{"size": [h, w], "counts": …}``, the counts packed into text."""
    # As mask.ravel(order="F"), in a tenth of the time.
    columns = cv2.transpose(np.ascontiguousarray(mask, dtype=bool).view(np.uint8)) if mask.size else mask
    counts = count_runs(columns.ravel().view(np.bool_))
    return {"counts": pack_counts(counts), "size": list(mask.shape)}


def decode_rle(rle: dict[str, Any]) -> np.ndarray:
    """The (h, w) bool mask of a COCO ``{"size": …, "counts": …}``, packed or not."""
    (height, width), counts = rle["size"], rle["counts"]
    if min(height, width) < 0 or height * width > MAX_PIXELS:
        raise BadInputError(f"an RLE has at most {MAX_PIXELS} pixels, got {height} x {width}; export a smaller one")
    lengths = unpack_counts(counts) if isinstance(counts, str) else counts
    return fill_runs(lengths, height * width).reshape(width, height).T


def pack_counts(counts: Sequence[int] | np.ndarray) -> str:
    """COCO's text form of run lengths: from the fourth on, differences to the last but one, five bits a character."""
    values = np.array(counts, dtype=np.int64)
    values[3:] -= np.asarray(counts, dtype=np.int64)[1:-2]
    n_characters = _count_characters(values)
    places = np.arange(n_characters.max(initial=1))
    characters = values[:, None] >> (_N_BITS * places) & (_MORE - 1)  # (n_counts, most characters)
    characters |= np.where(places < n_characters[:, None] - 1, _MORE, 0)
    return (characters[places < n_characters[:, None]] + _BASE).astype(np.uint8).tobytes().decode("ascii")


def unpack_counts(text: str) -> np.ndarray:
    """Run lengths, (n,) int64, of COCO's text form; the inverse of `pack_counts`."""
    characters = np.frombuffer(text.encode("ascii", errors="replace"), np.uint8).astype(np.int64) - _BASE
    if ((characters < 0) | (characters >= 2 * _MORE)).any() or (len(characters) and characters[-1] & _MORE):
        raise BadInputError(
            "packed RLE counts must be characters from '0' to 'o', ending a number; export the mask again"
        )
    is_last = (characters & _MORE) == 0
    ends = np.flatnonzero(is_last)
    starts = np.concatenate([[0], ends + 1])[:-1].astype(np.int64)
    places = np.arange(len(characters)) - np.repeat(starts, ends - starts + 1)
    if (places > 11).any():  # 12 characters hold 60 bits: no picture has that many pixels
        raise BadInputError("packed RLE counts hold a number beyond any picture; export the mask again")
    parts = (characters & (_MORE - 1)) << (_N_BITS * places)
    values = np.add.reduceat(parts, starts) if len(starts) else np.zeros(0, np.int64)
    negative = (characters[ends] & (_MORE >> 1)) > 0
    values -= np.where(negative, np.int64(1) << (_N_BITS * (places[ends] + 1)), 0)
    values[1::2] = np.cumsum(values[1::2])
    values[2::2] = np.cumsum(values[2::2])  # the first count stands alone
    return values


def _count_characters(values: np.ndarray) -> np.ndarray:
    """Characters per value: the fewest five-bit groups whose top bit is the sign."""
    magnitudes = np.where(values < 0, ~values, values)
    n_characters = np.ones(len(values), np.int64)
    limit = _MORE >> 1
    while (magnitudes >= limit).any():
        n_characters += magnitudes >= limit
        limit <<= _N_BITS
    return n_characters


# Label Studio's brush ------------------------------------------------------------------------------------------------

# A stream begins with the number of bytes (32 bits), the bits of a value less one (5) and four field widths less one
# (4 each). Then follow groups: one bit for a run or single values, two bits that choose a width, the count
# less one in that width, and the value (or all of them). The mask is the alpha channel.
_WIDTHS = np.array([3, 4, 8, 16])
_LONGEST = 1 << 16  # of one run
_N_VALUE_BITS = 8
_N_CHANNELS = 4


def encode_brush(mask: np.ndarray) -> list[int]:
    """(h, w) bool to the bytes of Label Studio's ``rle``, all four channels 0 or 255."""
    lengths, is_object = _split_runs(count_runs(mask.ravel()) * _N_CHANNELS)
    choices = np.searchsorted(1 << _WIDTHS, lengths)
    widths = _WIDTHS[choices]
    groups = (((4 | choices) << widths) | (lengths - 1)) << _N_VALUE_BITS | np.where(is_object, 255, 0)
    header = np.array([mask.size * _N_CHANNELS, _N_VALUE_BITS - 1, *(_WIDTHS - 1)])
    header_bits = _list_bits(header, np.array([32, 5, 4, 4, 4, 4]))
    bits = np.concatenate([header_bits, _list_bits(groups, 3 + widths + _N_VALUE_BITS)])
    # Label Studio's own encoder adds a byte of zeros where nothing is left to fill; so that both give the same bytes:
    padding = np.zeros(8 - len(bits) % 8, np.uint8)
    return np.packbits(np.concatenate([bits, padding])).tolist()


def decode_brush(stream: Sequence[int], height: int, width: int) -> np.ndarray:
    """Bytes of Label Studio's ``rle`` to a (height, width) bool mask: where the alpha channel is at least half."""
    reader = _BitReader(bytes(stream))
    n_bytes = reader.read(32)
    if n_bytes != height * width * _N_CHANNELS:
        raise BadInputError(f"a brush of {height} x {width} pixels cannot have {n_bytes} bytes; export the task again")
    n_value_bits = reader.read(5) + 1
    widths = [reader.read(4) + 1 for _ in range(4)]
    if n_value_bits != _N_VALUE_BITS:
        raise BadInputError(f"brush values must have 8 bits, got {n_value_bits}; export the task again")
    values = np.zeros(n_bytes, np.uint8)
    place = 0
    while place < n_bytes:
        is_run = reader.read(1)
        end = place + 1 + reader.read(widths[reader.read(2)])
        if end > n_bytes:
            raise BadInputError("the runs of a brush are longer than its picture; export the task again")
        if is_run:
            values[place:end] = reader.read(_N_VALUE_BITS)
        else:
            values[place:end] = np.frombuffer(reader.read(8 * (end - place)).to_bytes(end - place, "big"), np.uint8)
        place = end
    return values.reshape(height, width, _N_CHANNELS)[..., 3] >= 128


class _BitReader:
    """Numbers of any width from a byte string, highest bit first."""

    def __init__(self, data: bytes) -> None:
        self._data, self._place = data, 0

    def read(self, n_bits: int) -> int:
        first, end = self._place // 8, self._place + n_bits
        last = -(-end // 8)
        if last > len(self._data):
            raise BadInputError("a brush ends before its picture is full; export the task again")
        self._place = end
        return int.from_bytes(self._data[first:last], "big") >> (8 * last - end) & ((1 << n_bits) - 1)


def _split_runs(lengths: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Runs that begin with background to parts of at most `_LONGEST`, and whether each part is object."""
    is_object = np.arange(len(lengths)) % 2 == 1
    lengths, is_object = lengths[lengths > 0], is_object[lengths > 0]
    n_parts = -(-lengths // _LONGEST)
    parts = np.full(n_parts.sum(), _LONGEST)
    parts[np.cumsum(n_parts) - 1] = (lengths - 1) % _LONGEST + 1
    return parts, np.repeat(is_object, n_parts)


def _list_bits(numbers: np.ndarray, widths: np.ndarray) -> np.ndarray:
    """The bits of each number in its width, highest first, one after the other."""
    places = np.arange(widths.max() - 1, -1, -1)
    bits = (numbers[:, None] >> places) & 1
    return bits[places < widths[:, None]].astype(np.uint8)
