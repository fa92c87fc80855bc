"""Numbers of 24 bits: sign, 8 bits of exponent and 15 of fraction, that is float32 without its last byte."""

from __future__ import annotations

import numpy as np


def round_numbers(values: np.ndarray) -> np.ndarray:
    """Values float32, each rounded to the nearest number of 24 bits: by 1 / 65536 of its size at most."""
    bits = values.view(np.uint32)
    last = (bits >> np.uint32(8)) & np.uint32(1)  # a tie goes to the even number
    return ((bits + np.uint32(0x7F) + last) & np.uint32(0xFFFFFF00)).view(np.float32)


def pack_numbers(values: np.ndarray) -> np.ndarray:
    """(..., 3) uint8 of values (...) float32 that `round_numbers` gave, the least byte first."""
    return np.ascontiguousarray(values, "<f4")[..., None].view(np.uint8)[..., 1:]


def unpack_numbers(packed: np.ndarray) -> np.ndarray:
    """(...) float32, from what `pack_numbers` gave."""
    parts = np.zeros((*packed.shape[:-1], 4), np.uint8)
    parts[..., 1:] = packed
    return parts.view("<f4")[..., 0].astype(np.float32, copy=False)
