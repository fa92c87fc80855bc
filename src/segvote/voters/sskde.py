"""SSKDE: labels propagate along the votes of nearest neighbours, anchored at given labels.

``P_i = (1 - t_i) Y_i + t_i sum_j K_ij P_j``, K the kernels to other bags divided by their sum, Y the label that is
given, t_i the part of P_i that its neighbours decide; solved, ``P = (I - T K)^-1 (I - T) Y``.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse
from sklearn.utils import gen_batches

from segvote.errors import BadInputError
from segvote.kernels import build_vote_graph, search_neighbours
from segvote.method.graph import N_NEIGHBORS
from segvote.voters.base import Segments, Votes
from segvote.voters.kernel_votes import NeighbourVoter

# The iteration ends when no label changes by more than this, or after so many rounds.
SAME_LABELS = 1e-10
MAX_ROUNDS = 10_000
ROWS_PER_BLOCK = 256


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

    Attributes
    ----------
    labels_
        (n_segments,) P.
    graph_
        (n_segments, n_segments) sparse: K.

    References
    ----------
    Wang, Hua, Mei, Hong, Qi, Song, Dai: Semi-supervised kernel density estimation for video annotation. CVIU 2009.
    """

    def __init__(
        self, n_neighbors: int = N_NEIGHBORS, trust_votes: float = 0.9, trust_votes_labelled: float = 0.0
    ) -> None:
        self.n_neighbors = n_neighbors
        self.trust_votes = trust_votes
        self.trust_votes_labelled = trust_votes_labelled

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


@dataclass(frozen=True)
class Tangents:
    """The directions in which the neighbours of each segment spread."""

    axes: np.ndarray  # (n, m, d) orthonormal directions of each segment
    shares: np.ndarray  # (n, m) l / (l + s^2), l the variance along the direction, s^2 the mean along the others

    def shorten(self, X: np.ndarray, voters: np.ndarray, squared: np.ndarray, indices: np.ndarray) -> np.ndarray:
        """(n, k) squared distances from X to its neighbours in the metric of each neighbour.

        With covariance ``C = s^2 I + sum l a a^T``: ``s^2 (x - v)^T C^-1 (x - v)``, that is
        ``|x - v|^2 - sum (a . (x - v))^2 l / (l + s^2)``.
        """
        shortened = squared.astype(np.float64)
        for column, found in enumerate(indices.T):
            known = np.flatnonzero(found >= 0)
            gaps = X[known].astype(np.float64) - voters[found[known]]
            along = np.einsum("nmd,nd->nm", self.axes[found[known]], gaps)
            shortened[known, column] -= (along**2 * self.shares[found[known]]).sum(axis=1)
        return np.maximum(shortened, 0.0)


def learn_tangents(X: np.ndarray, indices: np.ndarray, n_tangent: int) -> Tangents:
    """Principal directions, at most `n_tangent`, of the neighbours (n, k) of every row of X; -1: no neighbour."""
    n_kept = min(n_tangent, X.shape[1], indices.shape[1])
    axes, shares = np.zeros((len(X), n_kept, X.shape[1]), dtype=np.float32), np.zeros((len(X), n_kept))
    for rows in gen_batches(len(X), ROWS_PER_BLOCK):
        axes[rows], shares[rows] = _find_axes(X[rows].astype(np.float64), X, indices[rows], n_kept)
    return Tangents(axes, shares)


def _find_axes(points: np.ndarray, X: np.ndarray, indices: np.ndarray, n_kept: int) -> tuple[np.ndarray, np.ndarray]:
    gaps = np.where((indices >= 0)[:, :, None], X[indices] - points[:, None, :], 0.0)
    # The few eigenvectors of the table of inner products give those of the large covariance.
    variances, vectors = np.linalg.eigh(np.einsum("nid,njd->nij", gaps, gaps) / indices.shape[1])
    kept = np.maximum(variances[:, ::-1][:, :n_kept], 0.0)
    axes = np.einsum("nid,nim->nmd", gaps, vectors[:, :, ::-1][:, :, :n_kept])
    lengths = np.linalg.norm(axes, axis=2, keepdims=True)
    axes = np.divide(axes, lengths, out=np.zeros_like(axes), where=lengths > 0)
    rest = np.maximum(variances.sum(axis=1) - kept.sum(axis=1), 0.0) / max(indices.shape[1] - n_kept, 1)
    total = kept + rest[:, None]
    return axes, np.divide(kept, total, out=np.zeros_like(kept), where=total > 0)


class ManifoldSSKDE(SSKDE):
    """Semi-supervised kernel density estimation on a manifold, our reading.

    As `SSKDE`, but the kernel around a segment has the covariance of its nearest segments (manifold Parzen windows):
    its `n_tangent` principal directions, and one variance for all others. The original's formula was not seen by us.

    Parameters
    ----------
    n_neighbors, trust_votes, trust_votes_labelled
        As for `SSKDE`.
    n_tangent
        Directions in which a kernel is long; 0 is `SSKDE`.
    n_local
        How many neighbours the directions are learned from.

    References
    ----------
    Ji, Zhao, Hao, Jiang: Automatic image annotation by semi-supervised manifold kernel density estimation. Information
    Sciences 2014. The kernel: Vincent, Bengio: Manifold Parzen windows. NIPS 2002.
    """

    def __init__(
        self,
        n_neighbors: int = N_NEIGHBORS,
        trust_votes: float = 0.9,
        trust_votes_labelled: float = 0.0,
        n_tangent: int = 3,
        n_local: int = 20,
    ) -> None:
        super().__init__(n_neighbors, trust_votes, trust_votes_labelled)
        self.n_tangent = n_tangent
        self.n_local = n_local

    def _learn(self, segments: Segments) -> None:
        if self.n_tangent < 0 or self.n_local < 1:
            raise BadInputError(
                f"n_tangent must be 0 or above and n_local 1 or above; got {self.n_tangent} and {self.n_local}"
            )
        indices = search_neighbours(segments.X, segments.X, self.n_local, segments.bags, segments.bags)[1]
        self._tangents = learn_tangents(segments.X, indices, self.n_tangent)
        super()._learn(segments)

    def _build_graph(self, X: np.ndarray, bags: np.ndarray) -> sparse.csr_matrix:
        voters = self._voters
        squared, indices = search_neighbours(X, voters.X, self.n_neighbors, bags, voters.bags)
        squared = self._tangents.shorten(X, voters.X, squared, indices)
        order = np.argsort(squared, axis=1, kind="stable")
        squared, indices = (np.take_along_axis(one, order, axis=1) for one in (squared, indices))
        return build_vote_graph(squared, indices, len(voters))
