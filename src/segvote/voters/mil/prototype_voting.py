"""Prototype voting: a few segments that recur in *with* bags and in no other vote for what is near them."""

from __future__ import annotations

import numpy as np

from segvote.errors import BadInputError
from segvote.voters.kernel_votes import check_bandwidth, find_typical_distance
from segvote.voters.mil.learning_bags import Bags, BagVoter, spread_out
from segvote.voters.mil.prototypes import embed_bags, measure_similarity

__all__ = ["PrototypeVoting", "select_prototypes"]


class PrototypeVoting(BagVoter):
    """Class-specific prototypes that vote, our reading: ``f(x) = sum_p v_p k(x, p)``.

    A prototype is a *with* segment. How much bag b shows it is ``s_bp``, the kernel at the nearest segment of b. It
    votes with its log odds
    ``v_p = log (1 + sum_with s_bp) / (2 + n_with) - log (1 + sum_without s_bp) / (2 + n_without)``, its own bag left
    out. Prototypes are taken one by one, as long as one covers more of the *with* bags that are not
    covered yet than of the *without* bags (see `select_prototypes`). The original's formulas are not public.

    Parameters
    ----------
    n_prototypes
        At most so many.
    n_candidates
        At most so many *with* segments, evenly spaced, are candidates.
    bandwidth
        Of the Gaussian kernel; None: the median distance from a segment to its ten nearest segments of other bags.

    Attributes
    ----------
    prototypes_, votes_
        (m, d) and (m,): the segments that vote, and v.

    References
    ----------
    Krapac, Perronnin, Furon, Jégou: Instance classification with prototype selection. ICMR 2014.
    """

    N_TYPICAL = 10

    def __init__(self, n_prototypes: int = 50, n_candidates: int = 2000, bandwidth: float | None = None) -> None:
        self.n_prototypes = n_prototypes
        self.n_candidates = n_candidates
        self.bandwidth = bandwidth

    def _fit_bags(self, bags: Bags) -> None:
        if self.n_prototypes < 1 or self.n_candidates < 1:
            raise BadInputError(
                f"there must be a prototype and a candidate; got {self.n_prototypes}, {self.n_candidates}"
            )
        typical = find_typical_distance(bags.X, bags.X, self.N_TYPICAL, bags.codes, bags.codes)
        self.bandwidth_ = check_bandwidth(typical if self.bandwidth is None else self.bandwidth)
        shown = np.flatnonzero(bags.positive)
        candidates = shown[spread_out(len(shown), self.n_candidates)]
        similarity = embed_bags(bags, bags.X[candidates], self.bandwidth_)
        similarity[bags.codes[candidates], np.arange(len(candidates))] = 0.0  # its own bag says nothing of it
        odds = _measure_odds(similarity, bags.labels)
        chosen = select_prototypes(similarity, bags.labels, self.n_prototypes)
        self.prototypes_, self.votes_ = bags.X[candidates[chosen]], odds[chosen]
        self._rows = bags.rows[candidates[chosen]]

    def _score(self, X: np.ndarray, bags: np.ndarray, prior: np.ndarray) -> np.ndarray:
        # A sum over columns, not a product: a row's rounding then does not depend on how many rows there are.
        return np.einsum("ij,j->i", measure_similarity(X, self.prototypes_, self.bandwidth_), self.votes_)

    def _list_votes(self, x: np.ndarray, bag: int, prior: float) -> tuple[np.ndarray, np.ndarray, float]:
        kernels = measure_similarity(x[None, :], self.prototypes_, self.bandwidth_)[0]
        return self._rows, self.votes_ * kernels, -self.threshold_


def _measure_odds(similarity: np.ndarray, labels: np.ndarray) -> np.ndarray:
    n_with, n_without = labels.sum() - 1, (~labels).sum()
    shown = (1 + similarity[labels].sum(axis=0)) / (2 + n_with)
    return np.log(shown) - np.log((1 + similarity[~labels].sum(axis=0)) / (2 + n_without))


def select_prototypes(similarity: np.ndarray, labels: np.ndarray, n_prototypes: int) -> np.ndarray:
    """Choose prototypes one by one.

    Parameters
    ----------
    similarity
        (n_bags, n_candidates) s in [0, 1], 0 in a candidate's own bag.
    labels
        (n_bags,) bool.
    n_prototypes
        At most so many are chosen, and at least one.

    Returns
    -------
    (m,) candidates. Each adds the largest ``mean_with u_b s_bp - mean_without s_bp``, u_b the part of bag b that those
    chosen before leave uncovered, ``prod (1 - s_bp)``; the last is the one before the first that adds nothing.
    """
    shown, cost = similarity[labels], similarity[~labels].mean(axis=0)
    uncovered = np.ones(len(shown))
    chosen: list[int] = []
    for _ in range(min(n_prototypes, similarity.shape[1])):
        gains = uncovered @ shown / len(shown) - cost
        gains[chosen] = -np.inf
        best = int(np.argmax(gains))
        if chosen and gains[best] <= 0:
            break
        chosen.append(best)
        uncovered *= 1 - shown[:, best]
    return np.array(chosen, dtype=np.int64)
