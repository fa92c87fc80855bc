"""The queue: in which order images are worth a person's look."""

from __future__ import annotations

import numpy as np

from segvote.review.state import Snapshot

__all__ = ["measure_closeness", "measure_unsteadiness", "rank_images"]

# Of what a person's look is expected to help with, and how much each counts. The shares were set on street photographs:
# a mask that hangs on its threshold is the best sign of a wrong one, another voter's opinion the weakest.
PRIORITY = {"unsteady": 0.4, "close": 0.25, "doubt": 0.2, "change": 0.1, "disagreement": 0.05}
# The threshold is moved to these shares of its height above the lowest score of a bag to see how much of a mask hangs
# on it.
NUDGES = (0.7, 1.5)
# Scores this near to the threshold, in shares of the run's range, could as well be on its other side.
NEARNESS = 0.02
# An image that was corrected but not accepted comes later: the first correction helps most.
CORRECTED_DISCOUNT = 1.6


def rank_images(snapshot: Snapshot) -> np.ndarray:
    """(n_bags,) how much a person's look would help, in [0, 1]; images looked at come last.

    All signs are compared by rank among the *with* images, so that none of them drowns the others. A *without* image
    comes after every *with* image, the one with the highest score first.
    """
    signs = {
        "unsteady": measure_unsteadiness(snapshot),
        "close": measure_closeness(snapshot),
        "doubt": snapshot.doubt,
        "change": snapshot.change,
        "disagreement": snapshot.disagreement,
    }
    inside, outside = np.flatnonzero(snapshot.tags), np.flatnonzero(~snapshot.tags)
    priority = np.zeros(snapshot.n_bags)
    for name, share in PRIORITY.items():
        priority[inside] += share * _rank(signs[name][inside])
    corrected = snapshot.sum_per_bag((snapshot.fixed >= 0).astype(np.int64)) > 0
    priority = np.where(corrected, priority / CORRECTED_DISCOUNT, priority)
    priority[inside] = 0.3 + 0.7 * priority[inside]
    highest = np.maximum.reduceat(snapshot.scores, snapshot.offsets[:-1])
    priority[outside] = 0.25 * _rank(highest[outside])
    return np.where(snapshot.looked, priority * 1e-3, priority)


def measure_unsteadiness(snapshot: Snapshot) -> np.ndarray:
    """(n_bags,) share of the mask that comes or goes when the threshold is nudged, both ways added."""
    low = np.minimum.reduceat(snapshot.scores, snapshot.offsets[:-1])
    total = np.zeros(snapshot.n_bags)
    for nudge in NUDGES:
        other = snapshot.scores > snapshot.spread(low + (snapshot.thresholds - low) * nudge)
        total += snapshot.measure_unlikeness(other)
    return total


def measure_closeness(snapshot: Snapshot) -> np.ndarray:
    """(n_bags,) area whose score is hardly above or below the threshold, in areas of the mask."""
    scale = NEARNESS * (float(np.ptp(snapshot.scores)) or 1.0)
    close = np.exp(-np.abs(snapshot.scores - snapshot.spread(snapshot.thresholds)) / scale)
    covered = snapshot.sum_per_bag(np.where(snapshot.decisions, snapshot.areas, 0))
    return snapshot.sum_per_bag(close * snapshot.areas) / np.maximum(covered, 1)


def _rank(values: np.ndarray) -> np.ndarray:
    """Place in [0, 1] among the others; equal values share the lowest place."""
    if len(values) < 2:
        return np.zeros(len(values))
    return np.searchsorted(np.sort(values), values) / (len(values) - 1)
