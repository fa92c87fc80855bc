"""How good are the masks that nobody has looked at? Judged by those that were accepted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

__all__ = ["Estimate", "estimate_rest", "measure_overlap"]

# Fewer accepted masks say nothing.
FEWEST = 3
# Of Student's distribution, both sides, 95 %; by degrees of freedom, the last for all above.
QUANTILES = (12.71, 4.30, 3.18, 2.78, 2.57, 2.45, 2.36, 2.31, 2.26, 2.23, 2.13, 2.09, 2.04, 1.98)
DEGREES = (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 15, 20, 30, 100)


@dataclass(frozen=True)
class Estimate:
    """Mean IoU of the automatic masks with the accepted ones.

    Attributes
    ----------
    n_accepted, n_untouched
        How many masks were accepted, and how many of them as the vote had them, to the pixel.
    mean, low, high
        Mean IoU, and its interval of confidence (95 %).
    """

    n_accepted: int
    n_untouched: int
    mean: float
    low: float
    high: float


def measure_overlap(one: np.ndarray, other: np.ndarray) -> float:
    """IoU of two masks (h, w) bool; 1 where both are empty."""
    either = np.count_nonzero(one | other)
    return float(np.count_nonzero(one & other) / either) if either else 1.0


def estimate_rest(overlaps: Sequence[float]) -> Estimate | None:
    """What the IoUs of automatic masks with accepted ones let one expect of the rest; None for too few of them."""
    n_accepted = len(overlaps)
    if n_accepted < FEWEST:
        return None
    mean = float(np.mean(overlaps))
    quantile = QUANTILES[int(np.searchsorted(DEGREES, n_accepted - 1, side="right")) - 1]
    margin = quantile * float(np.std(overlaps, ddof=1)) / n_accepted**0.5
    n_untouched = sum(int(overlap == 1) for overlap in overlaps)
    return Estimate(n_accepted, n_untouched, mean, max(0.0, mean - margin), min(1.0, mean + margin))
