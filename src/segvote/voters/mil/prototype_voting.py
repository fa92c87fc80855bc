"""Prototype voting: a few segments that recur in *with* bags and in no other vote for what is near them."""

from __future__ import annotations

import numpy as np

from segvote.errors import BadInputError
from segvote.voters.kernel_votes import choose_bandwidth
from segvote.voters.mil.learning_bags import Bags, BagVoter, spread_out
from segvote.voters.mil.prototypes import Prototypes, PrototypeVoter, embed_bags


class PrototypeVoting(PrototypeVoter, BagVoter):
    """Class-specific prototypes that vote, our reading: ``f(x) = sum_p v_p k(x, p)``.

    A prototype is a *with* segment. How much bag b shows it is ``s_bp``, the kernel at the nearest segment of b. It
    votes with its log odds
    ``v_p = log (1 + sum_with s_bp) / (2 + n_with) - log (1 + sum_without s_bp) / (2 + n_without)``, its own bag left
    out. Prototypes are taken one by one, as long as one covers more of the *with* bags that are not
    covered yet than of the *without* bags (see `select_prototypes`). The original's formulas were not seen by us.

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

    def __init__(self, n_prototypes: int = 50, n_candidates: int = 2000, bandwidth: float | None = None) -> None:
        self.n_prototypes = n_prototypes
        self.n_candidates = n_candidates
        self.bandwidth = bandwidth

    def _fit_bags(self, bags: Bags) -> None:
        if self.n_prototypes < 1 or self.n_candidates < 1:
            raise BadInputError(
                f"there must be a prototype and a candidate; got {self.n_prototypes}, {self.n_candidates}"
            )
        self.bandwidth_ = choose_bandwidth(self.bandwidth, bags.X, bags.X, bags.codes, bags.codes)
        shown = np.flatnonzero(bags.positive)
        candidates = shown[spread_out(len(shown), self.n_candidates)]
        similarity = embed_bags(bags, bags.X[candidates], self.bandwidth_)
        similarity[bags.codes[candidates], np.arange(len(candidates))] = 0.0  # its own bag says nothing of it
        odds = _measure_odds(similarity, bags.labels)
        chosen = select_prototypes(similarity, bags.labels, self.n_prototypes)
        self.prototypes_, self.votes_ = bags.X[candidates[chosen]], odds[chosen]
        rows = bags.rows[candidates[chosen]]
        self._prototypes = Prototypes(self.prototypes_, self.votes_, rows, 0.5 / self.bandwidth_**2)


def _measure_odds(similarity: np.ndarray, labels: np.ndarray) -> np.ndarray:
    n_with, n_without = labels.sum() - 1, (~labels).sum()
    shown = (1 + similarity[labels].sum(axis=0)) / (2 + n_with)
    return np.log(shown) - np.log((1 + similarity[~labels].sum(axis=0)) / (2 + n_without))


def select_prototypes(similarity: np.ndarray, labels: np.ndarray, n_prototypes: int) -> np.ndarray:
    """Choose prototypes one by one: (m,) candidates, at least one, by s (n_bags, n_candidates), 0 in their own bags.

    Each adds the largest ``mean_with u_b s_bp - mean_without s_bp``, u_b the part of bag b that those chosen before
    leave uncovered, ``prod (1 - s_bp)``; the last is the one before the first that adds nothing.
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
