"""Pixels that are not bytes: how wide integers and floats are shown."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from segvote.errors import BadInputError

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
