"""Whether a correction adds what a wider extent would have added, so that the page can offer it for all images."""

from __future__ import annotations

import numpy as np

from segvote.method.extents import N_LEVELS


def find_wider(levels: np.ndarray, decisions: np.ndarray, level: int, added: np.ndarray) -> int:
    """The tightest of the wider extents that has most of the pixels that a correction adds to a mask.

    Parameters
    ----------
    levels : (n_segments,) uint8
        The first extent that selects each segment of the image, before the correction.
    decisions : (n_segments,) bool
        Segments of the mask, before the correction.
    level : int
        The extent of the image.
    added : (n_segments,)
        Pixels of each segment that the correction calls object.

    Returns
    -------
    int
        0 where there is none, or nothing is added.
    """
    new = np.where(decisions | (levels <= level), 0, added)
    for wider in range(level + 1, N_LEVELS + 1):
        if 2 * new[levels <= wider].sum() > new.sum():
            return wider
    return 0
