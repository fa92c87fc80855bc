"""SSKDE along the manifold: a kernel that is long in the directions in which a segment's own neighbours spread."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse
from sklearn.utils import gen_batches

from segvote.errors import BadInputError
from segvote.kernels import build_vote_graph, search_neighbours
from segvote.method.graph import N_NEIGHBORS
from segvote.voters.density.sskde import SSKDE
from segvote.voters.segments import Segments

ROWS_PER_BLOCK = 256


@dataclass(frozen=True)
class Tangents:
    """The directions in which the neighbours of each segment spread.

    Attributes
    ----------
    axes
        (n, m, d) orthonormal directions of each segment.
    shares
        (n, m) ``l / (l + s^2)``: l the variance along the direction, s^2 the mean variance along the others.
    """

    axes: np.ndarray
    shares: np.ndarray

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
    n_neighbors, trust_votes, trust_votes_labelled, solver
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
        solver: str = "iterate",
        n_tangent: int = 3,
        n_local: int = 20,
    ) -> None:
        super().__init__(n_neighbors, trust_votes, trust_votes_labelled, solver)
        self.n_tangent = n_tangent
        self.n_local = n_local

    def _learn(self, segments: Segments) -> np.ndarray:
        if self.n_tangent < 0 or self.n_local < 1:
            raise BadInputError(
                f"n_tangent must be 0 or above and n_local 1 or above; got {self.n_tangent} and {self.n_local}"
            )
        indices = search_neighbours(segments.X, segments.X, self.n_local, segments.bags, segments.bags)[1]
        self._tangents = learn_tangents(segments.X, indices, self.n_tangent)
        return super()._learn(segments)

    def _build_graph(self, X: np.ndarray, bags: np.ndarray) -> sparse.csr_matrix:
        voters = self._voters
        squared, indices = search_neighbours(X, voters.X, self.n_neighbors, bags, voters.bags)
        squared = self._tangents.shorten(X, voters.X, squared, indices)
        order = np.argsort(squared, axis=1, kind="stable")
        squared, indices = (np.take_along_axis(one, order, axis=1) for one in (squared, indices))
        return build_vote_graph(squared, indices, len(voters))
