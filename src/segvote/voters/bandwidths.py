"""Bandwidths s+ and s- of the printed eKDE: readings of the paper's rule, and a search of our own.

The paper says "maximise the overall class density difference" over a grid of powers of ten. `choose_bandwidths` has
four readings of that sentence. `search_window` is ours: with unequal bandwidths the iteration has a useful fixed point
for a narrow range of s+ / s- only, and the search looks for that range without any mask.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from segvote.errors import BadInputError
from segvote.numerics import search_neighbours, sum_kernel
from segvote.numerics.spread import spread_evenly
from segvote.numerics.threads import use_one_thread
from segvote.voters.base import Segments
from segvote.voters.kernel_votes import average_kernels, choose_bandwidth

READINGS = ("absolute-difference", "difference", "discrepancy", "separate")
WINDOW = "window"
BANDWIDTH_RULES = (*READINGS, WINDOW)

# The grid printed in the paper.
GRID = (0.001, 0.01, 0.1, 1.0, 10.0, 100.0, 1000.0)
# Segments over which a rule takes its means.
MAX_ASKED = 5000
# The window is searched over s- in units of the typical distance, and over s+ / s-, the widest first.
SCALES = (0.4, 0.5, 0.6, 0.7)
RATIOS = (1.5, 1.45, 1.4, 1.35, 1.325, 1.3, 1.275, 1.25, 1.225, 1.2, 1.175, 1.15, 1.125, 1.1, 1.075, 1.05)
N_NEIGHBORS = 40  # of the graph by which a selection is compared with itself
BEST_SHARE = 0.05  # of each *without* bag, which is compared with the selection
WINDOW_ROUNDS, WINDOW_TOL = 300, 1e-4
RHO_STEPS, SAME_RHO = 100, 1e-5
TINY = np.finfo(float).tiny


@dataclass(frozen=True)
class WindowPoint:
    """The printed iteration with one pair of bandwidths, at its fixed point, and how plausible its selection is."""

    scale: float  # s- in units of the typical distance
    ratio: float  # s+ / s-
    scores: np.ndarray  # (n_segments,) f of eq. 6
    false_positives: float  # share of *without* segments with f > 0, votes of their own bag left out
    rho: float  # spectral radius of J, J_ij = k+_ij / b_i; up to 1 the only fixed point is w = 0
    consistency: float  # see `measure_consistency`

    @property
    def plausibility(self) -> float:
        """Consistency times the share of *without* segments that stay background: the search maximises it."""
        return self.consistency * (1 - self.false_positives)


def choose_bandwidths(
    segments: Segments, grid: tuple[float, ...] = GRID, rule: str = WINDOW, own_bag: bool = True
) -> tuple[float, float]:
    """Bandwidths s+ and s-.

    The first four rules are readings of the paper's words, "maximise the overall class density difference". A and B
    are taken at the start, w = 1, on the grid.

    ``difference``
        Sum of f = A - B over the *with* segments: always the widest k+ with the narrowest k-.
    ``absolute-difference``
        Sum of |f| over all segments: the same, or the reverse where there are more *without* segments.
    ``separate``
        Mean of f over P less mean of f over N, own bag left out, for each kernel by itself.
    ``discrepancy``
        The same with one bandwidth for both kernels: the squared maximum mean discrepancy of P and N. The iteration
        then converges to w = 0.
    ``window``
        Ours, no reading: the most plausible point of `search_window`; the grid is not used.

    Sums are over an evenly spaced sample of segments where there are more than `MAX_ASKED`. `own_bag` is whether
    segments of the own bag vote while the window is searched.
    """
    if rule not in BANDWIDTH_RULES:
        raise BadInputError(f"bandwidth_rule must be one of {', '.join(BANDWIDTH_RULES)}; got {rule!r}")
    if rule == WINDOW:
        best = max(search_window(segments, own_bag=own_bag), key=lambda point: point.plausibility)
        against = best.scale * measure_unit(segments)
        return best.ratio * against, against
    asked = spread_evenly(len(segments), MAX_ASKED)
    sides = segments.positive, ~segments.positive
    if rule in ("separate", "discrepancy"):
        kernels = [average_kernels(segments, asked, side, grid) for side in sides]
        owns = [side[asked] for side in sides]
        gains = [one[:, own].mean(axis=1) - one[:, ~own].mean(axis=1) for one, own in zip(kernels, owns, strict=True)]
        if rule == "discrepancy":
            gains = [gains[0] + gains[1]] * 2
        return grid[int(np.argmax(gains[0]))], grid[int(np.argmax(gains[1]))]
    if rule == "difference":
        asked = asked[segments.positive[asked]]
    votes_for, votes_against = (sum_kernel(segments.X[asked], segments.X[side], grid) for side in sides)
    differences = votes_for[:, None] - votes_against[None]  # (n_grid, n_grid, n_asked)
    totals = (differences if rule == "difference" else np.abs(differences)).sum(axis=2)
    best_for, best_against = np.unravel_index(np.argmax(totals), totals.shape)
    return grid[int(best_for)], grid[int(best_against)]


def measure_unit(segments: Segments) -> float:
    """The typical distance: median over all segments of the distances to the ten nearest of other bags."""
    return choose_bandwidth(None, segments.X, segments.X, segments.bags, segments.bags)


def search_window(
    segments: Segments,
    scales: Sequence[float] = SCALES,
    ratios: Sequence[float] = RATIOS,
    own_bag: bool = True,
) -> Iterator[WindowPoint]:
    """Run the printed iteration to its fixed point for every scale, s- in typical distances, and ratio, s+ / s-.

    Both have no unit, so that those found on a sample of `MAX_ASKED` segments hold for all of them. `own_bag` is
    whether segments of the own bag vote.
    """
    rows = spread_evenly(len(segments), MAX_ASKED)
    segments = replace(
        segments, **{name: getattr(segments, name)[rows] for name in ("X", "positive", "bags", "prior", "user_labels")}
    )
    unit = measure_unit(segments)
    X, bags = segments.X, segments.bags
    graph = search_neighbours(X, X, min(N_NEIGHBORS, len(X)), bags, bags).build_graph()
    squared, is_own = measure_squared(segments.X), segments.bags[:, None] == segments.bags
    if not own_bag:
        squared[is_own] = np.inf
    for scale in scales:
        against = _exponentiate(squared, scale * unit)
        weights = np.ones(int(segments.positive.sum()))
        # A grows with s+, so the fixed point of a wider k+ lies above that of a narrower one: the iteration may start
        # there instead of at 1 and ends at the same greatest fixed point.
        for ratio in sorted(ratios, reverse=True):
            pro = _exponentiate(squared, ratio * scale * unit)
            weights = settle(pro, against, segments.positive, weights)
            soft = np.zeros(len(segments), dtype=np.float32)
            soft[segments.positive] = weights
            scores = pro @ soft - against @ (1 - soft)
            foreign = scores - np.where(is_own, pro, 0) @ soft + np.where(is_own, against, 0) @ (1 - soft)
            selected = (scores > 0) & segments.positive
            own, total = pro[np.ix_(segments.positive, segments.positive)], against[segments.positive].sum(1, float)
            yield WindowPoint(
                scale,
                ratio,
                scores.astype(np.float64),
                false_positives=float((foreign > 0)[~segments.positive].sum() / max((~segments.positive).sum(), 1)),
                rho=find_radius(partial(_multiply, own), total, SAME_RHO),
                consistency=measure_consistency(segments, selected, graph @ selected.astype(np.float64)),
            )


def measure_squared(X: np.ndarray) -> np.ndarray:
    """(n, n) float32 squared distances; centred first, because small norms lose fewer digits in the product."""
    centred = (X - X.mean(axis=0, dtype=np.float64)).astype(np.float32)
    norms = np.einsum("ij,ij->i", centred, centred)
    with use_one_thread():  # the rounding of a product depends on how many threads share it
        squared = -2 * (centred @ centred.T)
    squared += norms[:, None]
    squared += norms
    np.fill_diagonal(squared, 0)
    return np.maximum(squared, 0, out=squared)


def _exponentiate(squared: np.ndarray, bandwidth: float) -> np.ndarray:
    """Gaussian kernels of squared distances."""
    kernels = squared * np.float32(-0.5 / bandwidth**2)
    return np.exp(kernels, out=kernels)


def settle(pro: np.ndarray, against: np.ndarray, positive: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """(n_positives,) w of eq. 17 when it has settled; kernels are (n_segments, n_segments)."""
    inside = np.ix_(positive, positive)
    own_pro, own_against = pro[inside], against[inside]
    negatives = against[np.ix_(positive, ~positive)].sum(axis=1, dtype=np.float64)
    for _ in range(WINDOW_ROUNDS):
        votes_for = own_pro @ weights.astype(np.float32)
        votes_against = negatives + own_against @ (1 - weights).astype(np.float32)
        updated = votes_for / np.maximum(votes_for + votes_against, TINY)
        change, weights = np.abs(updated - weights).max(initial=0.0), updated
        if change <= WINDOW_TOL:
            break
    return weights


def _multiply(kernels: np.ndarray, vector: np.ndarray) -> np.ndarray:
    return kernels @ vector.astype(np.float32)


def find_radius(multiply: Callable[[np.ndarray], np.ndarray], total: np.ndarray, tol: float) -> float:
    """Spectral radius of J_ij = k+_ij / b_i over P by power iteration, b_i = sum_N k- + sum_P k- its `total` (n,).

    `multiply` gives k+ times a vector; a step that changes the radius by no more than `tol` of it is the last.
    """
    vector, rho = np.ones(len(total)), 0.0
    for _ in range(RHO_STEPS):
        vector = multiply(vector) / np.maximum(total, TINY)
        before, rho = rho, float(vector.max(initial=0.0))
        if rho == 0 or abs(rho - before) <= tol * rho:
            break
        vector = vector / rho
    return rho


def measure_consistency(segments: Segments, selected: np.ndarray, share: np.ndarray) -> float:
    """How well a selection (n_segments,) bool of *with* segments agrees with itself; 0 where it is all or nothing.

    ``inside (1 - rest) (1 - without)``: the mean of `share` (n_segments,), the share of selected neighbours, in the
    selection, in the rest of the *with* bags, and in the best twentieth of each *without* bag.
    """
    rest = segments.positive & ~selected
    if not selected.any() or not rest.any():
        return 0.0
    shares = [np.sort(share[segments.bags == bag]) for bag in np.unique(segments.bags[~segments.positive])]
    bests = [float(one[-max(1, int(BEST_SHARE * len(one))) :].mean()) for one in shares]
    without = float(np.mean(bests)) if bests else 0.0
    return float(share[selected].mean() * (1 - share[rest].mean()) * (1 - without))
