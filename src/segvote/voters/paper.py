"""The paper's eKDE to the letter, with its faults reported instead of hidden.

``A_i = sum_P w_j k+(x_i, x_j)``, ``B_i = sum_N k-(x_i, n) + sum_P (1 - w_j) k-(x_i, x_j)``, score ``f = A - B`` (eq.
6), label ``sgn f`` (eq. 7), update ``w <- A / (A + B)`` (eq. 17), from w = 1 until w no longer changes. Eq. 12, which
the paper calls an expectation, is a ratio of expectations, not the expectation of a ratio; `class_densities` follows it
as printed.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted, validate_data

from segvote.errors import BadInputError
from segvote.kernels import SampledKernel, make_kernel, sum_kernel
from segvote.voters.base import BaseVoter, Votes
from segvote.voters.kernel_votes import MAX_PAIRS, measure_relative_error
from segvote.voters.mil.learning_bags import spread_out
from segvote.voters.segments import Segments

BANDWIDTH_RULES = ("absolute-difference", "difference", "discrepancy", "separate")

# The grid printed in the paper.
GRID = (0.001, 0.01, 0.1, 1.0, 10.0, 100.0, 1000.0)
TINY = np.finfo(float).tiny
# Segments over which the rule for bandwidths takes its means.
MAX_ASKED = 5000
# Power steps at most; one that changes the spectral radius by no more than this part of it is the last.
RHO_STEPS = 100
SAME_RHO = 1e-7


class PaperEKDE(BaseVoter):
    """The iteration as printed.

    Parameters
    ----------
    bandwidth_for, bandwidth_against
        Of k+ and k-; None: chosen from `grid`.
    bandwidth_rule
        How, a name of `BANDWIDTH_RULES`: see `choose_bandwidths`.
    grid
        Bandwidths to choose from.
    max_iter, tol
        Stops when no weight changes by more than `tol`, or after `max_iter` rounds.
    own_bag
        Whether segments of one's own bag vote (the sums of the paper run over all of P). Without them the text's
        "patterns in different positive bags" is taken at its word.
    max_pairs
        Above this many pairs of *with* segments the sums are estimated: near segments exactly, the far ones by a sample
        (see `segvote.kernels.sampled`). Up to here all their kernels are kept in memory, 2 GB for each bandwidth.

    Attributes
    ----------
    rho_
        Spectral radius of J, J_ij = k+_ij / b_i. Up to 1 the only limit of the iteration is "nothing is object".
    n_iter_
        Rounds until w stopped changing.
    kernel_error_
        Standard error of A + B relative to it, where the sums were estimated: of 95 % of the segments less; else None.
    """

    def __init__(
        self,
        bandwidth_for: float | None = None,
        bandwidth_against: float | None = None,
        bandwidth_rule: str = "discrepancy",
        grid: tuple[float, ...] = GRID,
        max_iter: int = 1000,
        tol: float = 1e-6,
        own_bag: bool = True,
        max_pairs: int = 5 * 10**8,
    ) -> None:
        self.bandwidth_for = bandwidth_for
        self.bandwidth_against = bandwidth_against
        self.bandwidth_rule = bandwidth_rule
        self.grid = grid
        self.max_iter = max_iter
        self.tol = tol
        self.own_bag = own_bag
        self.max_pairs = max_pairs

    wants_lengths = True

    def __sklearn_tags__(self):  # type: ignore[no-untyped-def]
        tags = super().__sklearn_tags__()
        # Run to the end it may select nothing: that is what this class is here to show.
        tags.classifier_tags.poor_score = True
        return tags

    def _learn(self, segments: Segments) -> np.ndarray:
        positives = np.flatnonzero(segments.positive)
        is_sampled = len(positives) ** 2 > self.max_pairs or len(segments) ** 2 > MAX_PAIRS
        self._set_bandwidths(segments)
        bandwidths = self.bandwidth_for_, self.bandwidth_against_
        sums = _Sums(segments, *bandwidths, self.own_bag, positives, is_sampled)
        weights = self._iterate(sums, segments.user_labels[positives])
        self.rho_ = sums.measure_rho()
        self._voters, self._weights = segments, np.zeros(len(segments))
        self._weights[positives] = weights
        self.kernel_error_: float | None = None
        if is_sampled:
            sums = _Sums(segments, *bandwidths, self.own_bag, np.arange(len(segments)), is_sampled)
            votes_for, votes_against = sums.count(weights)
            self.kernel_error_ = measure_relative_error(sums.measure_error(weights), votes_for + votes_against)
        else:
            votes_for, votes_against = self._count_votes(segments.X, segments.bags)
        self._warn_all_or_nothing((votes_for - votes_against)[positives])
        return votes_for - votes_against

    def _iterate(self, sums: _Sums, known: np.ndarray) -> np.ndarray:
        """(n_positives,) w; user labels stay as they are."""
        weights = np.where(known == 0, 0.0, 1.0)
        for n_iter in range(1, self.max_iter + 1):
            self.n_iter_ = n_iter
            votes_for, votes_against = sums.count(weights)
            updated = np.where(known >= 0, known, votes_for / np.maximum(votes_for + votes_against, TINY))
            change = np.abs(updated - weights).max(initial=0.0)
            weights = updated
            if change <= self.tol:
                break
        return weights

    def _set_bandwidths(self, segments: Segments) -> None:
        given = (self.bandwidth_for, self.bandwidth_against)
        best = choose_bandwidths(segments, self.grid, self.bandwidth_rule) if None in given else (1.0, 1.0)
        chosen = [found if asked is None else asked for asked, found in zip(given, best, strict=True)]
        if not min(chosen) > 0:
            raise BadInputError(f"a bandwidth must be above 0; got {min(chosen)}")
        self.bandwidth_for_, self.bandwidth_against_ = map(float, chosen)

    def _count_votes(self, X: np.ndarray, bags: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
        """A and B at any points. A segment of N is one of P whose w is 0: one sum over all holds both."""
        voters, weights = self._voters, np.column_stack([self._weights, 1 - self._weights])
        bags = None if self.own_bag else bags
        sums = sum_kernel(X, voters.X, [self.bandwidth_for_, self.bandwidth_against_], weights, bags, voters.bags)
        return sums[0, :, 0], sums[1, :, 1]

    def _warn_all_or_nothing(self, scores: np.ndarray) -> None:
        selected = (scores > 0).mean()
        if 0 < selected < 1:
            return
        what = "every" if selected == 1 else "no"
        warnings.warn(
            f"the printed iteration selected {what} segment of the *with* bags (rho = {self.rho_:.3f} after "
            f"{self.n_iter_} rounds); use voter ekde, or give other bandwidths or a smaller max_iter",
            UserWarning,
            stacklevel=4,
        )

    def _find_threshold(self, raw: np.ndarray, segments: Segments) -> float:
        return 0.0  # sgn f, eq. 7

    def _weigh(self, raw: np.ndarray, segments: Segments) -> np.ndarray:
        self._scale = float(raw.std()) or 1.0
        return np.where(segments.user_labels >= 0, segments.user_labels, self._weights)

    def _score(self, X: np.ndarray, bags: np.ndarray, prior: np.ndarray) -> np.ndarray:
        votes_for, votes_against = self._count_votes(X, bags)
        return votes_for - votes_against

    def posterior(self, X: np.ndarray) -> np.ndarray:
        """(n_segments, 2) posterior B / (A + B), A / (A + B) of eq. 17; one half where no vote reaches.

        Same decision as eq. 7, but another order: few votes that all agree give a small f and a posterior of one.
        `predict_proba` keeps the order of f, as scikit-learn asks.
        """
        votes_for, votes_against = self._check_and_count(X)
        total = votes_for + votes_against
        posterior = np.divide(votes_for, total, out=np.full(len(total), 0.5), where=total > 0)
        return np.column_stack([1 - posterior, posterior])

    def class_densities(self, X: np.ndarray) -> np.ndarray:
        """(n_segments, 2) p(x | without), p(x | with) of eq. 12, up to the normalisers of the kernels.

        Times `class_priors_` (eq. 16) they are B and A over the number of segments, so the MAP rule (eq. 13) is sgn f.
        """
        votes_for, votes_against = self._check_and_count(X)
        return np.column_stack([votes_against, votes_for]) / np.maximum(self.class_priors_ * len(self._weights), TINY)

    @property
    def class_priors_(self) -> np.ndarray:
        """(2,) the priors of eq. 16: share of all segments believed background, object."""
        share = self._weights.mean()
        return np.array([1 - share, share])

    def _check_and_count(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        check_is_fitted(self)
        return self._count_votes(validate_data(self, X, reset=False, dtype=(np.float64, np.float32)), None)

    def _list_votes(self, x: np.ndarray, bag: int, prior: float) -> Votes:
        voters, both = self._voters, [self.bandwidth_for_, self.bandwidth_against_]
        own = None if self.own_bag else np.array([bag])
        k_for, k_against = sum_kernel(voters.X, x[None, :], both, None, voters.bags, own)
        return np.arange(len(voters)), self._weights * k_for - (1 - self._weights) * k_against, 0.0


class _Sums:
    """A and B at some segments; the sum over N does not depend on w and is taken once."""

    def __init__(
        self,
        segments: Segments,
        bandwidth_for: float,
        bandwidth_against: float,
        own_bag: bool,
        rows: np.ndarray,
        is_sampled: bool,
    ) -> None:
        self.positives, bags = np.flatnonzero(segments.positive), None if own_bag else segments.bags

        def pair(voters: np.ndarray, bandwidth: Any) -> tuple[Any, ...]:
            own = (None, None) if bags is None else (bags[rows], bags[voters])
            return segments.X[rows], segments.X[voters], bandwidth, *own

        self._for = make_kernel(*pair(self.positives, bandwidth_for), is_sampled=is_sampled)
        self._against = self._for
        if bandwidth_for != bandwidth_against:
            self._against = make_kernel(*pair(self.positives, bandwidth_against), is_sampled=is_sampled)
        self._from_negatives, self._error = _sum_once(
            *pair(np.flatnonzero(~segments.positive), bandwidth_against), is_sampled=is_sampled
        )

    def count(self, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return self._for.multiply(weights), self._from_negatives + self._against.multiply(1 - weights)

    def measure_error(self, weights: np.ndarray) -> np.ndarray:
        """Standard errors of A + B where the sums are sampled; those of one sample at most add up."""
        assert isinstance(self._for, SampledKernel) and isinstance(self._against, SampledKernel)
        return self._for.measure_error(weights) + self._against.measure_error(1 - weights) + self._error

    def measure_rho(self) -> float:
        """Spectral radius of J_ij = k+_ij / b_i, b_i = sum_N k- + sum_P k-, by power iteration."""
        total = np.maximum(self.count(np.zeros(len(self.positives)))[1], TINY)
        vector = np.ones(len(self.positives))
        rho = 0.0
        for _ in range(RHO_STEPS):
            vector = self._for.multiply(vector) / total
            before, rho = rho, float(np.abs(vector).max())
            if rho == 0 or abs(rho - before) <= SAME_RHO * rho:
                break
            vector /= rho
        return rho


def _sum_once(
    queries: np.ndarray,
    voters: np.ndarray,
    bandwidth: float,
    query_bags: np.ndarray | None,
    voter_bags: np.ndarray | None,
    *,
    is_sampled: bool,
) -> tuple[np.ndarray, np.ndarray]:
    """(n_queries,) sums of the kernels of voters that all weigh one, and their standard errors."""
    if is_sampled:
        kernel, ones = SampledKernel(queries, voters, bandwidth, query_bags, voter_bags), np.ones(len(voters))
        return kernel.multiply(ones), kernel.measure_error(ones)
    sums = sum_kernel(queries, voters, [bandwidth], None, query_bags, voter_bags)[0]
    return sums, np.zeros(len(sums))


def choose_bandwidths(
    segments: Segments, grid: tuple[float, ...] = GRID, rule: str = "discrepancy"
) -> tuple[float, float]:
    """Bandwidths s+ and s- by a reading of the paper's words, "maximise the overall class density difference".

    A and B are taken at the start, w = 1. The first three readings are the plain ones; they are degenerate.

    ``difference``
        Sum of f = A - B over the *with* segments: always the widest k+ with the narrowest k-.
    ``absolute-difference``
        Sum of |f| over all segments: the same, or the reverse where there are more *without* segments.
    ``separate``
        Mean of f over P less mean of f over N, own bag left out, for each kernel by itself.
    ``discrepancy``
        The same with one bandwidth for both kernels. On a grid of powers of ten, a wider k+ drowns the votes against
        and everything is object, a narrower one always ends with nothing. The difference is then the squared maximum
        mean discrepancy of P and N, for which a kernel so wide that it sees no difference, or so narrow that it sees
        nobody, gains nothing.

    Sums are over an evenly spaced sample of segments where there are more than `MAX_ASKED`.
    """
    if rule not in BANDWIDTH_RULES:
        raise BadInputError(f"bandwidth_rule must be one of {', '.join(BANDWIDTH_RULES)}; got {rule!r}")
    asked = spread_out(len(segments), MAX_ASKED)
    if rule in ("separate", "discrepancy"):
        gains_for, gains_against = (_measure_gains(segments, asked, side, grid) for side in _list_sides(segments))
        if rule == "separate":
            return grid[int(np.argmax(gains_for))], grid[int(np.argmax(gains_against))]
        best = grid[int(np.argmax(gains_for + gains_against))]
        return best, best
    if rule == "difference":
        asked = asked[segments.positive[asked]]
    votes_for, votes_against = (sum_kernel(segments.X[asked], segments.X[side], grid) for side in _list_sides(segments))
    differences = votes_for[:, None] - votes_against[None]  # (n_grid, n_grid, n_asked)
    totals = (differences if rule == "difference" else np.abs(differences)).sum(axis=2)
    best_for, best_against = np.unravel_index(np.argmax(totals), totals.shape)
    return grid[int(best_for)], grid[int(best_against)]


def _list_sides(segments: Segments) -> tuple[np.ndarray, np.ndarray]:
    return segments.positive, ~segments.positive


def _measure_gains(segments: Segments, asked: np.ndarray, side: np.ndarray, grid: tuple[float, ...]) -> np.ndarray:
    """(n_grid,) mean kernel of one side's segments at that side less at the other, own bag left out."""
    kernels, own = _average_kernels(segments, asked, side, grid), side[asked]
    return kernels[:, own].mean(axis=1) - kernels[:, ~own].mean(axis=1)


def _average_kernels(segments: Segments, asked: np.ndarray, side: np.ndarray, grid: tuple[float, ...]) -> np.ndarray:
    """(n_grid, n_asked) mean kernel of the segments of one side that lie in other bags."""
    bags, voter_bags = segments.bags[asked], segments.bags[side]
    n_others = side.sum() - np.bincount(voter_bags, minlength=segments.n_bags)[bags]
    return sum_kernel(segments.X[asked], segments.X[side], grid, None, bags, voter_bags) / np.maximum(n_others, 1)
