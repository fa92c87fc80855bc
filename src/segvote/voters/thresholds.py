"""Thresholds on scores: where object begins when nobody has drawn a mask."""

from __future__ import annotations

import numpy as np

__all__ = ["match_count"]


def match_count(scores: np.ndarray, n_selected: int) -> float:
    """The threshold above which `n_selected` scores lie (more where scores tie): the paper's rule for CRANE."""
    if n_selected <= 0:
        return float(np.inf)
    ranked = np.sort(scores)[::-1]
    return float(np.nextafter(ranked[min(n_selected, len(ranked)) - 1], -np.inf))
