"""Measures of a selection without masks, by the folder labels and the edges of the pictures.

*Self-consistency*: selected segments have selected neighbours, others do not. *Outline contrast*: outlines follow
edges. *Separability*: Otsu's two classes explain the scores. *Overlap* compares two selections. *Power* is how well
values of images separate the folders.
"""

from __future__ import annotations

import numpy as np

from segvote.method.table import SegmentTable
from segvote.numerics.auc import measure_auc
from segvote.numerics.otsu import split_each

# Part of each *without* image, the one with the most selected neighbours, that counts in self-consistency.
WITHOUT_SHARE = 0.05
# Otsu explains three quarters of the variance of almost any scores, and all but a twentieth of those of clear ones.
NO_SEPARABILITY, FULL_SEPARABILITY = 0.75, 0.95


def measure_inside(table: SegmentTable, selected: np.ndarray, shares: np.ndarray) -> float:
    """Mean share (n_segments,) of selected neighbours over the selected segments (n_segments,), by area."""
    return float(np.average(shares[selected], weights=table.areas[selected])) if selected.any() else 0.0


def measure_consistency(table: SegmentTable, selected: np.ndarray, shares: np.ndarray) -> float:
    """Self-consistency ``inside (1 - rest) (1 - without)`` of a selection (n_segments,) bool, in [0, 1].

    Selected segments should have selected neighbours in other images (*inside*), other segments of *with* images should
    not (*rest*), and neither should any part of the *without* images. `shares` (n_segments,) are the shares of each
    segment's neighbours that are selected.
    """
    without = float(table.measure_top(shares, WITHOUT_SHARE)[~table.positive].mean())
    rest = measure_inside(table, table.is_candidate & ~selected, shares)
    return measure_inside(table, selected, shares) * (1 - rest) * (1 - without)


def measure_outline_contrast(table: SegmentTable, selected: np.ndarray) -> float:
    """Contrast of the outline of a selection (n_segments,) over that of all boundaries; 1 where unknown.

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


def measure_separability(table: SegmentTable, scores: np.ndarray) -> np.ndarray:
    """(n_with,) how well Otsu's two classes explain the scores of each *with* image: 0 as any scores, 1 fully."""
    explained = split_each(table.split_with(scores), table.split_with(table.areas))[1]
    return np.clip((explained - NO_SEPARABILITY) / (FULL_SEPARABILITY - NO_SEPARABILITY), 0.0, 1.0)


def measure_uncertainty(table: SegmentTable, scores: np.ndarray, selected: np.ndarray, walks: np.ndarray) -> np.ndarray:
    """(n_images,) one minus separability times agreement of each *with* image; 0 for *without* images.

    Agreement is the mean overlap of the selection with those of the walks (n_walks, n_segments), 1 where there is none.
    """
    uncertainty, certainty = np.zeros(table.n_images), measure_separability(table, scores)
    if len(walks):
        parts = [table.split_with(values) for values in (table.areas, selected, *walks)]
        for image, (areas, own, *others) in enumerate(zip(*parts, strict=True)):
            certainty[image] *= np.mean([measure_overlap(areas, other, own) for other in others])
    uncertainty[table.positive] = 1 - certainty
    return uncertainty


def measure_power(values: np.ndarray, positive: np.ndarray) -> float:
    """How well values (n_images,) separate the folders: 2 AUC - 1, at least 0."""
    return max(0.0, 2 * measure_auc(values, positive) - 1)
