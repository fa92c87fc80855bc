"""The paper's eKDE to the letter, with its faults reported.

``A_i = sum_P w_j k+(x_i, x_j)``, ``B_i = sum_N k-(x_i, n) + sum_P (1 - w_j) k-(x_i, x_j)``, score ``f = A - B`` (eq.
6), label ``sgn f`` (eq. 7), update ``w <- A / (A + B)`` (eq. 17), from w = 1 until w no longer changes. Eq. 12, which
the paper calls an expectation, is a ratio of expectations, not the expectation of a ratio; `class_densities` follows it
as printed.

With s+ = s- the iteration converges to w = 0. With s+ > s- a positive fixed point exists where rho > 1, and a useful
one in a narrow range of s+ / s-; see `segvote.voters.bandwidths`.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np
from sklearn.utils.validation import check_is_fitted, validate_data

from segvote.errors import BadInputError
from segvote.numerics import fill_kernel, multiply_kernel, sum_kernel
from segvote.voters.bandwidths import GRID, WINDOW, choose_bandwidths, find_radius
from segvote.voters.base import BaseVoter, Segments, Votes
from segvote.voters.kernel_votes import check_pairs

TINY = np.finfo(float).tiny
# Pairs of *with* segments, whose kernels are all kept in memory: 2 GB for each bandwidth.
MAX_KERNELS = 5 * 10**8
# Largest exponent of a ratio of normalisers that double precision holds.
LARGEST_LOG = 700.0
SAME_RHO = 1e-7  # part of the spectral radius by which the last power step may change it


@dataclass(eq=False, repr=False)
class PaperEKDE(BaseVoter):
    """The iteration as printed.

    Parameters
    ----------
    bandwidth_for, bandwidth_against : float or None
        Of k+ and k-; None: chosen by `bandwidth_rule`.
    bandwidth_rule : str
        A name of `segvote.voters.bandwidths.BANDWIDTH_RULES`: ``window`` is a search of ours, the others are readings
        of the paper's sentence.
    grid : tuple of float
        Bandwidths that the readings choose from.
    normalised : bool
        Whether kernels integrate to one, as densities do: k+ is then multiplied by (s- / s+)^d. For equal bandwidths
        that is 1; otherwise it does not cancel, and in hundreds of dimensions it decides alone.
    max_iter, tol : int, float
        Stops when no weight changes by more than `tol`, or after `max_iter` rounds.
    own_bag : bool
        Whether segments of one's own bag vote (the sums of the paper run over all of P). Without them the text's
        "patterns in different positive bags" is taken literally.

    Attributes
    ----------
    rho_ : float
        Spectral radius of J, J_ij = k+_ij / b_i. Up to 1 the only limit of the iteration is "nothing is object".
    n_iter_ : int
        Rounds until w stopped changing.
    """

    wants_lengths = True
    zero = 0.0  # sgn f, eq. 7

    bandwidth_for: float | None = None
    bandwidth_against: float | None = None
    bandwidth_rule: str = WINDOW
    grid: tuple[float, ...] = GRID
    normalised: bool = False
    max_iter: int = 1000
    tol: float = 1e-6
    own_bag: bool = True

    def __sklearn_tags__(self):  # type: ignore[no-untyped-def]
        tags = super().__sklearn_tags__()
        # Run to the end it may select nothing, as the paper's iteration does.
        tags.classifier_tags.poor_score = True
        return tags

    def _learn(self, segments: Segments) -> None:
        positives = np.flatnonzero(segments.positive)
        check_pairs("the printed eKDE", len(positives), len(positives), MAX_KERNELS)
        self._set_bandwidths(segments)
        sums = _Sums(segments, self.bandwidth_for_, self.bandwidth_against_, self._gain, self.own_bag)
        weights = self._iterate(sums, segments.user_labels[positives])
        self.rho_ = sums.measure_rho()
        self._voters, self._weights = segments, np.zeros(len(segments))
        self._weights[positives] = weights

    def _score_training(self, segments: Segments) -> np.ndarray:
        scores = super()._score_training(segments)
        self._warn_all_or_nothing(scores[segments.positive])
        return scores

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
        best = (1.0, 1.0)
        if None in given:
            best = choose_bandwidths(segments, self.grid, self.bandwidth_rule, self.own_bag)
        chosen = [bandwidth if asked is None else asked for asked, bandwidth in zip(given, best, strict=True)]
        if not min(chosen) > 0:
            raise BadInputError(f"a bandwidth must be above 0; got {min(chosen)}")
        self.bandwidth_for_, self.bandwidth_against_ = map(float, chosen)
        self._gain = 1.0
        if self.normalised:
            log = segments.X.shape[1] * np.log(self.bandwidth_against_ / self.bandwidth_for_)
            self._gain = float(np.exp(np.clip(log, -LARGEST_LOG, LARGEST_LOG)))

    def _count_votes(self, X: np.ndarray, bags: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
        """A and B at any points. A segment of N is one of P whose w is 0: one sum over all holds both."""
        voters, weights = self._voters, np.column_stack([self._weights, 1 - self._weights])
        bags = None if self.own_bag else bags
        sums = sum_kernel(X, voters.X, [self.bandwidth_for_, self.bandwidth_against_], weights, bags, voters.bags)
        return self._gain * sums[0, :, 0], sums[1, :, 1]

    def _warn_all_or_nothing(self, scores: np.ndarray) -> None:
        selected = (scores > 0).mean()
        if 0 < selected < 1:
            return
        what, why = "no", f"rho = {self.rho_:.3f} > 1, but w ends below one half everywhere"
        if selected == 1:
            what, why = "every", f"rho = {self.rho_:.3f}, votes for exceed votes against everywhere"
        elif self.rho_ <= 1:
            why = f"rho = {self.rho_:.3f} <= 1, the only fixed point is w = 0"
        warnings.warn(
            f"the printed iteration selected {what} segment of the *with* bags ({why} after {self.n_iter_} rounds); "
            "use voter ekde, or bandwidth_rule=window or other bandwidths",
            UserWarning,
            stacklevel=4,
        )

    def _weigh(self, raw: np.ndarray, segments: Segments) -> np.ndarray:
        self._scale = float(raw.std()) or 1.0
        return np.where(segments.user_labels >= 0, segments.user_labels, self._weights)

    def _score(self, X: np.ndarray, bags: np.ndarray, prior: np.ndarray) -> np.ndarray:
        votes_for, votes_against = self._count_votes(X, bags)
        return votes_for - votes_against

    def predict_proba(self, X: np.ndarray) -> np.ndarray:
        """(n_segments, 2) posterior of *without* and *with* (eqs. 9, 14, 17): B and A over A + B; (1, 0) for 0 / 0."""
        votes = self._count_both(X)
        posterior = votes[:, 1] / np.maximum(votes.sum(axis=1), TINY)
        return np.column_stack([1 - posterior, posterior])

    def class_densities(self, X: np.ndarray) -> np.ndarray:
        """(n_segments, 2) p(x | without), p(x | with) of eq. 12, up to the normalisers of the kernels.

        With user labels for all *with* segments they are the densities of eqs. 10 and 11. Times `class_priors_`
        (eq. 16) they are B and A over the number of segments, so the MAP rule (eqs. 13 to 15) is sgn f.
        """
        return self._count_both(X) / np.maximum(self.class_priors_ * len(self._weights), TINY)

    def _count_both(self, X: np.ndarray) -> np.ndarray:
        """(n_segments, 2) B and A at any points."""
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, dtype=(np.float64, np.float32))
        votes_for, votes_against = self._count_votes(X, None)
        return np.column_stack([votes_against, votes_for])

    @property
    def class_priors_(self) -> np.ndarray:
        """(2,) the priors of eq. 16: share of all segments believed background, object."""
        share = self._weights.mean()
        return np.array([1 - share, share])

    def _list_votes(self, x: np.ndarray, bag: int, prior: float) -> Votes:
        voters, both = self._voters, [self.bandwidth_for_, self.bandwidth_against_]
        own = None if self.own_bag else np.array([bag])
        k_for, k_against = sum_kernel(voters.X, x[None, :], both, None, voters.bags, own)
        return np.arange(len(voters)), self._gain * self._weights * k_for - (1 - self._weights) * k_against, 0.0


class _Sums:
    """A and B at the segments of P; the sum over N does not depend on w and is taken once."""

    def __init__(
        self, segments: Segments, bandwidth_for: float, bandwidth_against: float, gain: float, own_bag: bool
    ) -> None:
        P, N = segments.X[segments.positive], segments.X[~segments.positive]
        bags = (None, None) if own_bag else (segments.bags[segments.positive], segments.bags[~segments.positive])
        self._gain = gain
        self._for = fill_kernel(P, P, bandwidth_for, bags[0], bags[0])
        is_same = bandwidth_for == bandwidth_against
        self._against = self._for if is_same else fill_kernel(P, P, bandwidth_against, bags[0], bags[0])
        self._from_negatives = sum_kernel(P, N, [bandwidth_against], None, *bags)[0]

    def count(self, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(n_positives,) each: A and B."""
        votes_against = self._from_negatives + multiply_kernel(self._against, 1 - weights)
        return self._gain * multiply_kernel(self._for, weights), votes_against

    def measure_rho(self) -> float:
        """Spectral radius of J_ij = k+_ij / b_i, b_i = sum_N k- + sum_P k-."""
        total = self.count(np.zeros(len(self._for)))[1]
        return find_radius(lambda vector: self._gain * multiply_kernel(self._for, vector), total, SAME_RHO)
