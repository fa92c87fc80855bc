"""Second voting: neighbouring segments of one image pull each other's scores together."""

from __future__ import annotations

import numpy as np

__all__ = ["vote_again"]


def vote_again(scores: np.ndarray, edges: np.ndarray, share: float = 0.3) -> np.ndarray:
    """Mix every score with the mean of its neighbours': ``f'_i = (1 - l) f_i + l mean_j f_j``.

    Parameters
    ----------
    scores
        (n_segments,).
    edges
        (m, 2) pairs of neighbouring segments, each pair once.
    share
        The l of the formula, in [0, 1].

    Returns
    -------
    (n_segments,); a segment without neighbours keeps its score.
    """
    n_segments = len(scores)
    ends = np.concatenate([edges, edges[:, ::-1]])
    count = np.bincount(ends[:, 0], minlength=n_segments)
    total = np.bincount(ends[:, 0], weights=scores[ends[:, 1]], minlength=n_segments)
    return np.where(count > 0, (1 - share) * scores + share * total / np.maximum(count, 1), scores)
