"""Decisions: from the scores of a bag's segments to which of them are object.

A rule sees the scores and areas of the segments of all *with* bags, and the boundaries between them, and gives one
threshold per bag; nothing is tuned on masks. Every *with* bag keeps at least its best segment.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from segvote.errors import UnknownNameError
from segvote.kernels import otsu_threshold
from segvote.method.outlines import Outlines, choose_shift, gather_contrasts, shift_threshold

__all__ = ["DECISIONS", "Scores", "check_decision", "decide", "learn_shift", "select_above"]


@dataclass(frozen=True)
class Scores:
    """What is decided on: one entry per *with* bag.

    Attributes
    ----------
    scores, areas
        (n_segments of the bag,) each; areas in pixels.
    outlines
        Boundaries between the segments of each bag, None where they are not known; empty: known of none.
    shift
        Of the thresholds, where it was learned before (`learn_shift`); None: learn it here.
    lowest
        The score of a segment that nobody votes for; None: the lowest of these.
    """

    scores: list[np.ndarray]
    areas: list[np.ndarray]
    outlines: Sequence[Outlines | None] = ()
    shift: float | None = None
    lowest: float | None = None

    def get_lowest(self) -> float:
        found = min(float(values.min()) for values in self.scores)
        return found if self.lowest is None else min(found, self.lowest)


def decide_otsu(bags: Scores) -> list[float]:
    """Otsu's threshold on each bag's own area-weighted scores."""
    return [otsu_threshold(scores, areas) for scores, areas in zip(bags.scores, bags.areas, strict=True)]


def decide_outlines(bags: Scores) -> list[float]:
    """Otsu's threshold of each bag, all shifted alike so that outlines run along the edges of the pictures."""
    shift = learn_shift(bags) if bags.shift is None else bags.shift
    lowest = bags.get_lowest()
    return [
        float(shift_threshold(otsu, float(scores.max()), lowest, shift))
        for otsu, scores in zip(decide_otsu(bags), bags.scores, strict=True)
    ]


def learn_shift(bags: Scores) -> float:
    """The shift for all bags together, see `segvote.method.outlines`; 0 where no outlines are known."""
    if not any(outline is not None for outline in bags.outlines):
        return 0.0
    return choose_shift(gather_contrasts(bags.scores, decide_otsu(bags), bags.outlines, bags.get_lowest()))


def decide_global_otsu(bags: Scores) -> list[float]:
    """One Otsu threshold for all bags together."""
    threshold = otsu_threshold(np.concatenate(bags.scores), np.concatenate(bags.areas))
    return [threshold] * len(bags.scores)


def decide_half_maximum(bags: Scores) -> list[float]:
    """Half way from a bag's lowest to its highest score."""
    return [0.5 * float(scores.min() + scores.max()) for scores in bags.scores]


def decide_best_segment(bags: Scores) -> list[float]:
    """Only the best segment of each bag, as negative mining does."""
    return [float(np.nextafter(scores.max(), -np.inf)) for scores in bags.scores]


DECISIONS: dict[str, Callable[[Scores], list[float]]] = {
    "best-segment": decide_best_segment,
    "global-otsu": decide_global_otsu,
    "half-maximum": decide_half_maximum,
    "otsu": decide_otsu,
    "outlines": decide_outlines,
}


def check_decision(rule: str) -> str:
    """The name itself, if it is one of `DECISIONS`."""
    if rule not in DECISIONS:
        raise UnknownNameError(f"unknown decision {rule!r}; the known ones are: {', '.join(DECISIONS)}")
    return rule


def decide(bags: Scores, rule: str = "outlines") -> tuple[list[np.ndarray], np.ndarray]:
    """Decide which segments of the *with* bags are object.

    Returns
    -------
    decisions
        One bool array per bag, at least one True in each.
    thresholds
        (n_bags,) the scores above which segments were taken.
    """
    thresholds = DECISIONS[check_decision(rule)](bags)
    decisions = [select_above(scores, threshold) for scores, threshold in zip(bags.scores, thresholds, strict=True)]
    return decisions, np.array(thresholds, dtype=np.float64)


def select_above(scores: np.ndarray, threshold: float) -> np.ndarray:
    """(n_segments,) bool: the segments of a *with* bag above its threshold, and always the best of them."""
    selected = scores > threshold
    selected[np.argmax(scores)] = True
    return selected
