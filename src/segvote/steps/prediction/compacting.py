"""Segments of a model in one byte per number.

Stated bound: on the scale on which the best segment's votes are 1, the votes of a segment change by 0.001 on average
and by less than 0.05 at most (measured in ``docs/predict.md``, tested in ``tests/steps/test_compacting.py``).
"""

from __future__ import annotations

import numpy as np

STEPS = 127  # of int8, on either side of zero
ROWS_AT_ONCE = 16_384


def pack(X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(n_segments, d) numbers as int8 codes, whole steps of a scale of each segment's own; and these scales."""
    codes, scales = np.empty(X.shape, dtype=np.int8), np.empty(len(X), dtype=np.float32)
    # A few at a time: X may be larger than what is left of memory.
    for start in range(0, len(X), ROWS_AT_ONCE):
        rows = slice(start, start + ROWS_AT_ONCE)
        largest = np.abs(X[rows]).max(axis=1, initial=0.0)
        scales[rows] = np.where(largest > 0, largest, 1.0) / STEPS
        codes[rows] = np.rint(X[rows] / scales[rows, None])
    return codes, scales


def unpack(codes: np.ndarray, scales: np.ndarray) -> np.ndarray:
    """(n_segments, d) float32 of what `pack` gave; equal to within half a step."""
    return codes.astype(np.float32) * scales[:, None]
