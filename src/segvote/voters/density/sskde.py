"""SSKDE: labels spread along the votes, anchored at what is known.

``P_i = (1 - t_i) Y_i + t_i sum_j K_ij P_j``, K the kernels to other bags divided by their sum, Y the label that is
given, t_i the part of P_i that its neighbours decide; solved, ``P = (I - T K)^-1 (I - T) Y``.
"""

from __future__ import annotations

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import splu

from segvote.errors import BadInputError
from segvote.method.graph import N_NEIGHBORS
from segvote.voters.base import Votes
from segvote.voters.neighbour_votes import NeighbourVoter
from segvote.voters.segments import Segments

# The iteration ends when no label changes by more than this, or after so many rounds.
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


def solve_labels(graph: sparse.csr_matrix, given: np.ndarray, shares: np.ndarray) -> np.ndarray:
    """(n,) P of the closed form, by a sparse factorisation; parameters as for `spread_labels`."""
    system = sparse.eye_array(len(given), format="csc") - sparse.diags_array(shares) @ graph
    return splu(sparse.csc_matrix(system)).solve((1 - shares) * given)


class SSKDE(NeighbourVoter):
    """Semi-supervised kernel density estimation.

    The method is made for labelled segments: user labels are its labels, and all segments of *without* bags. A segment
    of a *with* bag has none; its Y is 1, by the weak label of its bag: our reading. In the method's own paper t belongs
    to labelled segments and the others have no Y; with user labels for objects that is ``trust_votes`` near 1 and
    ``trust_votes_labelled`` = t.

    Parameters
    ----------
    n_neighbors
        How many segments of other bags vote for each one; the bandwidth is each segment's own, as in `Walk`.
    trust_votes
        t of segments without a label, in [0, 1); near 1 their Y does not count, and P is harmonic between labels.
    trust_votes_labelled
        t of labelled segments, in [0, 1): how far their neighbours may overrule the label; 0: labels are clamped.
    solver
        ``"iterate"``: the fixed point, sparse products only; ``"closed"``: a factorisation of I - T K, which fills up
        beyond some ten thousand segments.

    Attributes
    ----------
    labels_
        (n_segments,) P.

    References
    ----------
    Wang, Hua, Mei, Hong, Qi, Song, Dai: Semi-supervised kernel density estimation for video annotation. CVIU 2009.
    """

    SOLVERS = ("iterate", "closed")

    def __init__(
        self,
        n_neighbors: int = N_NEIGHBORS,
        trust_votes: float = 0.9,
        trust_votes_labelled: float = 0.0,
        solver: str = "iterate",
    ) -> None:
        self.n_neighbors = n_neighbors
        self.trust_votes = trust_votes
        self.trust_votes_labelled = trust_votes_labelled
        self.solver = solver

    def _learn(self, segments: Segments) -> np.ndarray:
        self._check_parameters()
        self._voters = segments
        graph = self._build_graph(segments.X, segments.bags)
        has_label = ~segments.positive | (segments.user_labels >= 0)
        shares = np.where(has_label, self.trust_votes_labelled, self.trust_votes)
        given = segments.positive.astype(np.float64)
        if self.solver == "closed":
            self.labels_ = solve_labels(graph, given, shares)
        else:
            self.labels_, self.n_iter_ = spread_labels(graph, given, shares)
        return graph @ self.labels_

    def _check_parameters(self) -> None:
        for name in ("trust_votes", "trust_votes_labelled"):
            if not 0 <= getattr(self, name) < 1:
                raise BadInputError(f"{name} must lie in [0, 1), or labels never settle; got {getattr(self, name)}")
        if self.solver not in self.SOLVERS:
            raise BadInputError(f"solver must be one of {', '.join(self.SOLVERS)}; got {self.solver!r}")

    def _score(self, X: np.ndarray, bags: np.ndarray, prior: np.ndarray) -> np.ndarray:
        return self._build_graph(X, bags) @ self.labels_

    def _list_votes(self, x: np.ndarray, bag: int, prior: float) -> Votes:
        return self._split_row(self._build_graph(x[None, :], np.array([bag])), self.labels_)
