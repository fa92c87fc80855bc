"""Which threshold draws the outlines of the thing along the edges of the pictures?

A network sees more than the segment it is asked about, so that the ground beside the thing becomes warm too; how warm
differs from one thing to the next, and no rule on the scores alone can tell it from a part of the thing that varies.
The pictures can: an outline that is too wide runs through even ground. All images of a run share one answer, the
*shift* of their own Otsu thresholds, because one picture's edges prove little.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

__all__ = ["Outlines", "choose_shift", "gather_contrasts", "measure_contrasts", "measure_outlines", "shift_threshold"]

# Below 0: so much less than Otsu's threshold. Above: so far on the way from there to the best score.
SHIFTS = np.round(np.arange(-0.6, 0.91, 0.05), 2)
# Where nothing speaks against it. Masks are redrawn along edges afterwards, which takes away more easily than it adds.
USUAL_SHIFT = -0.15
# A shift is as good as the best if its contrast is so much of the best one's, or within so many standard errors of it.
GOOD_ENOUGH = 0.92
N_ERRORS = 2.0
# Lab distance beyond which one edge counts no more than another.
LARGEST_CONTRAST = 30.0
# An outline as short as this part of all boundaries counts half: a dot is easily put on an edge.
SHORT = 0.005


@dataclass(frozen=True)
class Outlines:
    """Boundaries between the segments of one image.

    Attributes
    ----------
    edges
        (m, 2) neighbouring segments, each pair once.
    lengths
        (m,) length of their shared boundary in pixels.
    contrasts
        (m,) how different their colours are.
    """

    edges: np.ndarray
    lengths: np.ndarray
    contrasts: np.ndarray


def measure_outlines(edges: np.ndarray, lengths: np.ndarray, colours: np.ndarray) -> Outlines:
    """Boundaries with their contrasts, from the mean Lab colours (n_segments, 3) of the segments."""
    gap = colours[edges[:, 0]].astype(np.float64) - colours[edges[:, 1]]
    contrasts = np.minimum(np.sqrt((gap**2).sum(axis=1)), LARGEST_CONTRAST)
    return Outlines(edges, np.asarray(lengths, dtype=np.float64), contrasts)


def shift_threshold(otsu: float, best: float, lowest: float, shifts: np.ndarray | float) -> np.ndarray:
    """Thresholds of one bag: shifted down towards the lowest score of the run, or up towards the best of the bag."""
    shifts = np.asarray(shifts, dtype=np.float64)
    return otsu + np.where(shifts < 0, shifts * (otsu - lowest), shifts * (best - otsu))


def measure_contrasts(outlines: Outlines, selected: np.ndarray) -> np.ndarray:
    """How much more contrast outlines have than the boundaries of the image on average.

    Parameters
    ----------
    outlines
        Of one image.
    selected
        (n_choices, n_segments) bool: several choices of the thing.

    Returns
    -------
    (n_choices,): 0 for an outline like any boundary, 1 for twice the contrast; shrunk to 0 where it is short.
    """
    total, whole = (outlines.lengths * outlines.contrasts).sum(), outlines.lengths.sum()
    if total <= 0:
        return np.zeros(len(selected))
    crossed = selected[:, outlines.edges[:, 0]] != selected[:, outlines.edges[:, 1]]
    lengths = crossed @ outlines.lengths / whole
    contrasts = crossed @ (outlines.lengths * outlines.contrasts) / total
    return (contrasts - lengths) / (lengths + SHORT)


def choose_shift(contrasts: np.ndarray) -> float:
    """One of `SHIFTS` for all bags: the nearest to the usual one that cannot be told from the best.

    Parameters
    ----------
    contrasts
        (n_bags, n_shifts) contrast of each bag's outline at each of `SHIFTS`.
    """
    if len(contrasts) == 0:
        return 0.0
    means = contrasts.mean(axis=0)
    best = int(np.argmax(means))
    losses = contrasts[:, [best]] - contrasts
    errors = losses.std(axis=0, ddof=1) / np.sqrt(len(losses)) if len(losses) > 1 else np.full(len(means), np.inf)
    good = (losses.mean(axis=0) <= N_ERRORS * errors) | (means >= GOOD_ENOUGH * means[best])
    good[best] = True
    candidates = np.flatnonzero(good)
    return float(SHIFTS[candidates[np.argmin(np.abs(SHIFTS[candidates] - USUAL_SHIFT))]])


def gather_contrasts(
    scores: Sequence[np.ndarray], otsu: Sequence[float], outlines: Sequence[Outlines | None], lowest: float
) -> np.ndarray:
    """(n_bags that have outlines, n_shifts) contrasts at all `SHIFTS` of Otsu's thresholds."""
    rows = []
    for values, threshold, outline in zip(scores, otsu, outlines, strict=True):
        if outline is not None:
            thresholds = shift_threshold(threshold, float(values.max()), lowest, SHIFTS)
            rows.append(measure_contrasts(outline, values > thresholds[:, None]))
    return np.array(rows).reshape(-1, len(SHIFTS))
