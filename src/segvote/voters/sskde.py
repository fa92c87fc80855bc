"""SSKDE: labels propagate along the votes of nearest neighbours, anchored at given labels.

``P_i = (1 - t_i) Y_i + t_i sum_j K_ij P_j``, K the kernels to other bags divided by their sum, Y the label that is
given, t_i the part of P_i that its neighbours decide; solved, ``P = (I - T K)^-1 (I - T) Y``.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from segvote.errors import BadInputError
from segvote.method.graph import N_NEIGHBORS
from segvote.voters.base import Segments, Votes
from segvote.voters.kernel_votes import NeighbourVoter

# The iteration ends when no label changes by more than this, or after this number of rounds.
SAME_LABELS = 1e-10
MAX_ROUNDS = 10_000


def spread_labels(graph: sparse.csr_matrix, given: np.ndarray, shares: np.ndarray) -> tuple[np.ndarray, int]:
    """(n,) P by iterating its fixed point, a contraction by max t, and the number of rounds.

    `graph` is K (n, n), rows sum to at most one; `given` and `shares` are Y and t in [0, 1), (n,).
    """
    own = (1 - shares) * given
    values = given.astype(np.float64)
    for n_iter in range(1, MAX_ROUNDS + 1):  # noqa: B007
        updated = own + shares * (graph @ values)
        change = np.abs(updated - values).max(initial=0.0)
        values = updated
        if change <= SAME_LABELS:
            break
    return values, n_iter


@dataclass(eq=False, repr=False)
class SSKDE(NeighbourVoter):
    """Semi-supervised kernel density estimation (Wang 2009).

    The method is made for labelled segments: user labels are its labels, and all segments of *without* bags. A segment
    of a *with* bag has none; its Y is 1, by the weak label of its bag: our reading. In the method's own paper t belongs
    to labelled segments and the others have no Y; with user labels for objects that is ``trust_votes`` near 1 and
    ``trust_votes_labelled`` = t. `labels_` (n_segments,) is P, `graph_` sparse (n_segments, n_segments) is K.
    """

    n_neighbors: int = N_NEIGHBORS  # segments of other bags that vote for each one, as in `Walk`
    trust_votes: float = 0.9  # t of segments without a label, in [0, 1); near 1, P is harmonic between labels
    trust_votes_labelled: float = 0.0  # t of labelled segments, in [0, 1): how far votes overrule the label

    def _learn(self, segments: Segments) -> None:
        for name in ("trust_votes", "trust_votes_labelled"):
            if not 0 <= getattr(self, name) < 1:
                raise BadInputError(f"{name} must lie in [0, 1), or labels never settle; got {getattr(self, name)}")
        self._voters = segments
        self.graph_ = self._build_graph(segments.X, segments.bags)
        has_label = ~segments.positive | (segments.user_labels >= 0)
        shares = np.where(has_label, self.trust_votes_labelled, self.trust_votes)
        self.labels_, self.n_iter_ = spread_labels(self.graph_, segments.positive.astype(np.float64), shares)

    def _score_training(self, segments: Segments) -> np.ndarray:
        return self.graph_ @ self.labels_

    def _score(self, X: np.ndarray, bags: np.ndarray, prior: np.ndarray) -> np.ndarray:
        return self._build_graph(X, bags) @ self.labels_

    def _list_votes(self, x: np.ndarray, bag: int, prior: float) -> Votes:
        return self._split_row(self._build_graph(x[None, :], np.array([bag])), self.labels_)
