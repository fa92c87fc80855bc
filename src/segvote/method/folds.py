"""Which images are left out of the vote together."""

from __future__ import annotations

import numpy as np

__all__ = ["N_FOLDS", "make_folds"]

N_FOLDS = 5


def make_folds(positive: np.ndarray, n_folds: int) -> np.ndarray:
    """(n_images,) number of each image's group: both kinds spread evenly, neighbours by name in different groups."""
    folds = np.empty(len(positive), dtype=np.int64)
    for side in (positive, ~positive):
        folds[side] = np.arange(side.sum()) % n_folds
    return folds
