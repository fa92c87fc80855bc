"""Scores as heat: 0 cold, 1 warm, one half where the decision changes."""

from __future__ import annotations

import numpy as np

__all__ = ["measure_uncertainty", "scale_heat"]


def scale_heat(scores: np.ndarray, threshold: float, low: float, high: float) -> np.ndarray:
    """Bring scores to [0, 1]: `low` and less become 0, `threshold` one half, `high` and more 1."""
    above = 0.5 + 0.5 * (scores - threshold) / max(high - threshold, 1e-12)
    below = 0.5 * (scores - low) / max(threshold - low, 1e-12)
    return np.clip(np.where(scores > threshold, above, below), 0.0, 1.0)


def measure_uncertainty(scores: np.ndarray, decisions: np.ndarray, areas: np.ndarray) -> float:
    """How badly the decision explains the scores of a bag: 0 two clear levels, 1 no difference at all.

    One minus the share of the area-weighted variance that lies between the two sides.
    """
    share = areas / areas.sum()
    mean = (share * scores).sum()
    total = (share * (scores - mean) ** 2).sum()
    if total <= 0:
        return 1.0
    between = 0.0
    for side in (decisions, ~decisions):
        weight = share[side].sum()
        if weight > 0:
            between += weight * ((share[side] * scores[side]).sum() / weight - mean) ** 2
    return float(np.clip(1 - between / total, 0.0, 1.0))
