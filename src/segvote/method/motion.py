"""Motion as a survival factor: what moves with the ground is more likely to be ground."""

from __future__ import annotations

import numpy as np

__all__ = ["prefer_moving"]

NOTHING_MOVES = 0.05  # below this the most distinct segments of a video are noise


def prefer_moving(distinct: np.ndarray, factor: float = 0.9) -> np.ndarray:
    """`factor` for what moves with the ground, rising to 1 for what moves by itself.

    A video in which nothing stands out says nothing: all its segments get 1. The prior is relative to the most distinct
    tenth of the video's segments, so that a slow thing before a still camera counts like a fast one.

    Parameters
    ----------
    distinct
        (n_segments,) in [0, 1], of one video.
    factor
        In (0, 1]; 1 switches the prior off.
    """
    top = float(np.quantile(distinct, 0.9)) if len(distinct) else 0.0
    if top < NOTHING_MOVES:
        return np.ones(len(distinct))
    return factor + (1 - factor) * np.clip(distinct / top, 0.0, 1.0)
