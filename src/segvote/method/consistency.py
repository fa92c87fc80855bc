"""Self-consistency of a selection, measured by the folder labels alone.

Selected segments should have selected neighbours in other images (*inside*), the rest of the *with* images should not
(*rest*), and nothing in the *without* images should (*without*).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from segvote.method.table import SegmentTable

# The best part of a *without* image that is looked at.
TOP_SHARE = 0.05


@dataclass(frozen=True)
class Consistency:
    """Mean share of selected neighbours, by area.

    Attributes
    ----------
    inside, rest, without : float
        Of the selected segments; of the other segments of *with* images; of the best 5 % of the *without* images.
    """

    inside: float
    rest: float
    without: float

    @property
    def score(self) -> float:
        """inside (1 - rest) (1 - without), in [0, 1]."""
        return self.inside * (1 - self.rest) * (1 - self.without)


def measure_consistency(table: SegmentTable, selected: np.ndarray, shares: np.ndarray) -> Consistency:
    """Of a selection (n_segments,) bool, given the share (n_segments,) of each segment's neighbours in it."""
    rest = table.is_candidate & ~selected
    outside = table.measure_top(shares, TOP_SHARE)[~table.positive]
    return Consistency(
        inside=float(np.average(shares[selected], weights=table.areas[selected])) if selected.any() else 0.0,
        rest=float(np.average(shares[rest], weights=table.areas[rest])) if rest.any() else 0.0,
        without=float(outside.mean()),
    )


def measure_outline_contrast(table: SegmentTable, selected: np.ndarray) -> float:
    """How many times the contrast of all boundaries the outline of a selection (n_segments,) has; 1 where unknown.

    An outline that follows the edges of the pictures has 1.5 to 3 times their mean contrast, one that runs through even
    ground about 1.
    """
    known = table.is_candidate[table.edges[:, 0]] & ~np.isnan(table.contrasts)
    crossed = known & (selected[table.edges[:, 0]] != selected[table.edges[:, 1]])
    if not crossed.any() or not (table.lengths * np.nan_to_num(table.contrasts))[known].any():
        return 1.0
    outline = np.average(table.contrasts[crossed], weights=table.lengths[crossed])
    return float(outline / np.average(table.contrasts[known], weights=table.lengths[known]))


def measure_overlap(areas: np.ndarray, one: np.ndarray, other: np.ndarray) -> float:
    """Area of the intersection of two selections over that of their union; 1 where both are empty."""
    union = areas[one | other].sum()
    return float(areas[one & other].sum() / union) if union > 0 else 1.0
