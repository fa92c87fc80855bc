"""Thresholds: from scores of segments to selected segments.

A rule takes the scores and areas of the segments of each *with* image and gives one threshold per image; nothing is
tuned on masks. Every *with* image keeps at least its best segment.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from segvote.method.table import SegmentTable
from segvote.numerics import otsu_threshold
from segvote.numerics.otsu import split_each
from segvote.registry import Registry
from segvote.selection import apply_labels

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


# Name to a function from scores and areas of each *with* image to its threshold.
DECISIONS = Registry(
    "decision",
    {
        "best-segment": "segvote.method.threshold:decide_best_segment",
        "global-otsu": "segvote.method.threshold:decide_global_otsu",
        "half-maximum": "segvote.method.threshold:decide_half_maximum",
        "otsu": "segvote.method.threshold:decide_otsu",
        "sign": "segvote.method.threshold:decide_sign",
    },
)


def select_above(scores: np.ndarray, threshold: float) -> np.ndarray:
    """(n_segments,) bool: the segments of a *with* image above its threshold, and always the best of them."""
    selected = scores > threshold
    selected[np.argmax(scores)] = True
    return selected


def select(table: SegmentTable, scores: np.ndarray, rule: str = "otsu") -> tuple[np.ndarray, np.ndarray]:
    """Selected segments (n_segments,) of the *with* images, and thresholds (n_images,), 0 for *without* images."""
    selected, thresholds, parts = np.zeros(len(table), dtype=bool), np.zeros(table.n_images), table.split_with(scores)
    thresholds[table.positive] = DECISIONS[rule](parts, table.split_with(table.areas))
    selected[table.is_candidate] = np.concatenate(list(map(select_above, parts, thresholds[table.positive])))
    return selected, thresholds


def select_separable(table: SegmentTable, votes: np.ndarray, powers: Sequence[float]) -> np.ndarray:
    """Selected segments (n_segments,) by the votes of a walk, raised to the power that separates them best."""
    votes = np.maximum(votes, 0.0)
    return select(table, votes ** choose_power(table.split_with(votes), table.split_with(table.areas), powers))[0]


def choose_power(votes: Parts, areas: Parts, powers: Sequence[float]) -> float:
    """The exponent p of `powers` for which Otsu's two classes separate the votes ** p best, on average over the images.

    Separability is the variance between the classes over the total variance. Faces are separated best by 2, animals
    among other animals by 0.35; beyond 2 a single segment would be perfectly separable.
    """
    means = [np.mean(split_each([values**power for values in votes], areas)[1]) for power in powers]
    return powers[int(np.argmax(means))]


def apply_thresholds(
    table: SegmentTable, scores: np.ndarray, thresholds: np.ndarray, empty: np.ndarray, user_labels: np.ndarray
) -> np.ndarray:
    """(n_segments,) bool: segments of *with* images above the thresholds (n_images,); user labels hold.

    Every *with* image keeps its best segment, unless it is empty (n_images,).
    """
    selected = np.zeros(len(scores), dtype=bool)
    for image in map(int, np.flatnonzero(table.positive)):
        part, threshold = table.get_slice(image), float(thresholds[image])
        selected[part] = scores[part] > threshold if empty[image] else select_above(scores[part], threshold)
    return apply_labels(selected, user_labels)
