"""Scores as heat: 0 cold, 1 warm, one half where the decision changes."""

from __future__ import annotations

import numpy as np

__all__ = ["scale_heat"]


def scale_heat(scores: np.ndarray, threshold: float, low: float, high: float) -> np.ndarray:
    """Bring scores to [0, 1]: `low` and less become 0, `threshold` one half, `high` and more 1."""
    above = 0.5 + 0.5 * (scores - threshold) / max(high - threshold, 1e-12)
    below = 0.5 * (scores - low) / max(threshold - low, 1e-12)
    return np.clip(np.where(scores > threshold, above, below), 0.0, 1.0)
