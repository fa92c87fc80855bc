"""Decisions: from scores of segments to a selection, and how consistent a selection is.

A rule takes the scores and areas of the segments of each *with* image and gives one threshold per image; nothing is
tuned on masks. Every *with* image keeps at least its best segment.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from segvote.errors import UnknownNameError
from segvote.kernels import otsu_threshold
from segvote.kernels.otsu import split_each
from segvote.method.table import SegmentTable

# Part of each *without* image, the one with the most selected neighbours, that counts in self-consistency.
WITHOUT_SHARE = 0.05

Parts = Sequence[np.ndarray]  # one array for each *with* image


def decide_otsu(scores: Parts, areas: Parts) -> list[float]:
    """Otsu's threshold on each image's own area-weighted scores."""
    return list(split_each(scores, areas)[0])


def decide_global_otsu(scores: Parts, areas: Parts) -> list[float]:
    """One Otsu threshold for all images together."""
    return [otsu_threshold(np.concatenate(scores), np.concatenate(areas))] * len(scores)


def decide_half_maximum(scores: Parts, areas: Parts) -> list[float]:
    """Half way from an image's lowest to its highest score."""
    return [0.5 * float(values.min() + values.max()) for values in scores]


def decide_best_segment(scores: Parts, areas: Parts) -> list[float]:
    """Only the best segment of each image, as negative mining does."""
    return [float(np.nextafter(values.max(), -np.inf)) for values in scores]


def decide_sign(scores: Parts, areas: Parts) -> list[float]:
    """All segments with a score above 0 (eq. 7 of the paper)."""
    return [0.0] * len(scores)


DECISIONS: dict[str, Callable[[Parts, Parts], list[float]]] = {
    "best-segment": decide_best_segment,
    "global-otsu": decide_global_otsu,
    "half-maximum": decide_half_maximum,
    "otsu": decide_otsu,
    "sign": decide_sign,
}


def check_decision(rule: str) -> str:
    """The name itself, if it is one of `DECISIONS`."""
    if rule not in DECISIONS:
        raise UnknownNameError(f"unknown decision {rule!r}; the known ones are: {', '.join(DECISIONS)}")
    return rule


def select_above(scores: np.ndarray, threshold: float) -> np.ndarray:
    """(n_segments,) bool: the segments of a *with* image above its threshold, and always the best of them."""
    selected = scores > threshold
    selected[np.argmax(scores)] = True
    return selected


def select(table: SegmentTable, scores: np.ndarray, rule: str = "otsu") -> tuple[np.ndarray, np.ndarray]:
    """Selected segments (n_segments,) of the *with* images, and thresholds (n_images,), 0 for *without* images."""
    selected, thresholds, parts = np.zeros(len(table), dtype=bool), np.zeros(table.n_images), table.split(scores)
    thresholds[table.positive] = DECISIONS[check_decision(rule)](parts, table.split(table.areas))
    selected[table.is_candidate] = np.concatenate(list(map(select_above, parts, thresholds[table.positive])))
    return selected, thresholds


def select_separable(table: SegmentTable, votes: np.ndarray, powers: Sequence[float]) -> np.ndarray:
    """Selected segments (n_segments,) by the votes of a walk, raised to the power that separates them best."""
    votes = np.maximum(votes, 0.0)
    return select(table, votes ** choose_power(table.split(votes), table.split(table.areas), powers))[0]


def choose_power(votes: Parts, areas: Parts, powers: Sequence[float]) -> float:
    """The exponent p of `powers` for which Otsu's two classes separate the votes ** p best, on average over the images.

    Separability is the variance between the classes over the total variance. Faces are separated best by 2, animals
    among other animals by 0.35; beyond 2 a single segment would be perfectly separable.
    """
    means = [np.mean(split_each([values**power for values in votes], areas)[1]) for power in powers]
    return powers[int(np.argmax(means))]


# How good is a selection? By the folder labels and the edges of the pictures, without masks ---------------------------


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
