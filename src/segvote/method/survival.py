"""Survival factors: mild background priors, by the place of a segment in its image."""

from __future__ import annotations

import numpy as np

__all__ = ["prefer_inside"]


def prefer_inside(border: np.ndarray, factor: float = 0.9) -> np.ndarray:
    """`factor` for segments on the image border, 1 elsewhere.

    Without it a scene that all *with* images share, and no *without* image shows, wins over the thing in it.

    Parameters
    ----------
    border
        (n_segments,) length of boundary on the border of the image.
    factor
        In (0, 1]; 1 switches the prior off.
    """
    return np.where(border > 0, factor, 1.0)
