"""Evenly spaced samples."""

from __future__ import annotations

import numpy as np


def spread_evenly(n_items: int, n_wanted: int) -> np.ndarray:
    """Ascending numbers of at most `n_wanted` of `n_items`, evenly spaced: a sample that is the same every time.

    Examples
    --------
    >>> spread_evenly(10, 4).tolist(), spread_evenly(2, 4).tolist()
    ([0, 3, 6, 9], [0, 1])
    """
    return np.linspace(0, n_items - 1, min(n_items, n_wanted)).round().astype(np.int64)
