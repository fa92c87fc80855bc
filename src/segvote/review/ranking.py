"""The queue: in which order images are worth a look."""

from __future__ import annotations

import numpy as np

from segvote.review.snapshot import Snapshot

# Scores this near to the threshold, in shares of the run's range, could as well be on its other side.
NEARNESS = 0.02
# An image that was corrected but not accepted comes later: the first correction helps most.
CORRECTED_DISCOUNT = 2.5


def rank_images(snapshot: Snapshot) -> np.ndarray:
    """(n_bags,) how much a look would help, in [0, 1]; accepted images come last.

    Three signs of a wrong mask, none of which needs a truth, count the same: much area close to the threshold, voters
    that disagree, and a redrawn mask that is unlike the segments. They are compared by rank among the *with* images, so
    that none drowns the others. A *without* image comes after every *with* image, the one with the highest score first.
    """
    signs = (measure_closeness(snapshot), snapshot.disagreement, snapshot.redrawn)
    inside, outside = np.flatnonzero(snapshot.positive), np.flatnonzero(~snapshot.positive)
    priority = np.zeros(snapshot.n_bags)
    for sign in signs:
        priority[inside] += _rank(sign[inside]) / len(signs)
    priority = np.where(snapshot.corrected, priority / CORRECTED_DISCOUNT, priority)
    priority[inside] = 0.3 + 0.7 * priority[inside]
    highest = np.maximum.reduceat(snapshot.scores, snapshot.offsets[:-1])
    priority[outside] = 0.25 * _rank(highest[outside])
    return np.where(snapshot.accepted, priority * 1e-3, priority)


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
