"""Label Studio's brush: run lengths of the RGBA bytes of a picture, packed bit by bit.

A stream begins with the number of bytes (32 bits), the bits of a value less one (5) and four field widths less one
(4 each). Then follow groups: one bit that tells a run from single values, two bits that choose a width, the count less
one in that width, and the value (or all of them). The mask is the alpha channel.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from segvote.errors import BadInputError
from segvote.io.encodings.rle import count_runs

_WIDTHS = np.array([3, 4, 8, 16])
_LONGEST = 1 << 16  # of one run
_N_VALUE_BITS = 8
_N_CHANNELS = 4


def encode_brush(mask: np.ndarray) -> list[int]:
    """(h, w) bool to the bytes of Label Studio's ``rle``, all four channels 0 or 255."""
    lengths, values = _split_runs(count_runs(mask.ravel()) * _N_CHANNELS)
    choices = np.searchsorted(1 << _WIDTHS, lengths)
    widths = _WIDTHS[choices]
    groups = (((4 | choices) << widths) | (lengths - 1)) << _N_VALUE_BITS | np.where(values, 255, 0)
    bits = np.concatenate([_list_header_bits(mask.size * _N_CHANNELS), _list_bits(groups, 3 + widths + _N_VALUE_BITS)])
    # Label Studio's own encoder adds a byte of zeros where nothing is left to fill; so that both give the same bytes:
    padding = np.zeros(8 - len(bits) % 8, np.uint8)
    return np.packbits(np.concatenate([bits, padding])).tolist()


def decode_brush(stream: Sequence[int], height: int, width: int) -> np.ndarray:
    """Bytes of Label Studio's ``rle`` to a (height, width) bool mask: where the alpha channel is at least half."""
    try:
        data = bytes(list(stream))
    except (TypeError, ValueError) as error:
        raise BadInputError(f"a brush must be a list of bytes ({error}); export the task again") from error
    reader = _BitReader(data)
    n_bytes = reader.read(32)
    if n_bytes != height * width * _N_CHANNELS:
        raise BadInputError(f"a brush of {height} x {width} pixels cannot have {n_bytes} bytes; export the task again")
    values = _read_values(reader, n_bytes)
    return values.reshape(height, width, _N_CHANNELS)[..., 3] >= 128


def _read_values(reader: _BitReader, n_bytes: int) -> np.ndarray:
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
        values[place:end] = reader.read(_N_VALUE_BITS) if is_run else reader.read_bytes(end - place)
        place = end
    return values


class _BitReader:
    """Numbers of any width up to 32 bits from a byte string, highest bit first."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._place = 0

    def read(self, n_bits: int) -> int:
        first, end = self._place // 8, self._place + n_bits
        last = -(-end // 8)
        self._check(last)
        self._place = end
        number = int.from_bytes(self._data[first:last], "big") >> (8 * last - end)
        return number & ((1 << n_bits) - 1)

    def read_bytes(self, n_bytes: int) -> np.ndarray:
        first, shift = divmod(self._place, 8)
        last = first + n_bytes + (shift > 0)
        self._check(last)
        self._place += 8 * n_bytes
        bits = np.unpackbits(np.frombuffer(self._data[first:last], np.uint8))
        return np.packbits(bits[shift : shift + 8 * n_bytes])

    def _check(self, last: int) -> None:
        if last > len(self._data):
            raise BadInputError("a brush ends before its picture is full; export the task again")


def _split_runs(lengths: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Runs that begin with background to parts of at most `_LONGEST`, and whether each part is object."""
    is_object = np.arange(len(lengths)) % 2 == 1
    lengths, is_object = lengths[lengths > 0], is_object[lengths > 0]
    n_parts = -(-lengths // _LONGEST)
    parts = np.full(n_parts.sum(), _LONGEST)
    parts[np.cumsum(n_parts) - 1] = (lengths - 1) % _LONGEST + 1
    return parts, np.repeat(is_object, n_parts)


def _list_header_bits(n_bytes: int) -> np.ndarray:
    header = np.array([n_bytes, _N_VALUE_BITS - 1, *(_WIDTHS - 1)])
    return _list_bits(header, np.array([32, 5, 4, 4, 4, 4]))


def _list_bits(numbers: np.ndarray, widths: np.ndarray) -> np.ndarray:
    """The bits of each number in its width, highest first, one after the other."""
    places = np.arange(widths.max() - 1, -1, -1)
    bits = (numbers[:, None] >> places) & 1
    return bits[places < widths[:, None]].astype(np.uint8)
