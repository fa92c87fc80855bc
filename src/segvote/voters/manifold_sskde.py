"""SSKDE on a manifold: the kernel around a segment is long in the directions in which its nearest segments spread."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse
from sklearn.utils import gen_batches

from segvote.errors import BadInputError
from segvote.numerics import Neighbours, search_neighbours
from segvote.voters.base import Segments
from segvote.voters.sskde import SSKDE

ROWS_PER_BLOCK = 256


@dataclass(eq=False, repr=False)
class ManifoldSSKDE(SSKDE):
    """Semi-supervised kernel density estimation on a manifold (Ji 2014), our reading.

    arXiv 1812.06228 says that SSKDE "is later extended to a manifold structure", without a formula. Here it is `SSKDE`
    whose kernel around a segment has the covariance of its nearest segments (manifold Parzen windows, Vincent and
    Bengio 2002): `n_tangent` principal directions, and one variance for all others. Of the `n_neighbors` nearest
    segments those near along the manifold vote more.
    """

    n_tangent: int = 3  # directions in which a kernel is long; 0 is `SSKDE`
    n_local: int = 20  # neighbours that the directions are learned from

    def _learn(self, segments: Segments) -> None:
        if self.n_tangent < 0 or self.n_local < 1:
            raise BadInputError(
                f"n_tangent must be 0 or above and n_local 1 or above; got {self.n_tangent} and {self.n_local}"
            )
        neighbours = search_neighbours(segments.X, segments.X, self.n_local, segments.bags, segments.bags)
        self._tangents = learn_tangents(segments.X, neighbours.indices, self.n_tangent)
        super()._learn(segments)

    def _build_graph(self, X: np.ndarray, bags: np.ndarray) -> sparse.csr_matrix:
        voters = self._voters
        neighbours = search_neighbours(X, voters.X, self.n_neighbors, bags, voters.bags)
        squared = self._tangents.shorten(X, voters.X, neighbours)
        order = np.argsort(squared, axis=1, kind="stable")
        squared, indices = (np.take_along_axis(one, order, axis=1) for one in (squared, neighbours.indices))
        return Neighbours(squared, indices, neighbours.n_voters, neighbours.recall).build_graph()


@dataclass(frozen=True)
class Tangents:
    """The directions in which the neighbours of each segment spread."""

    axes: np.ndarray  # (n, m, d) orthonormal directions of each segment
    shares: np.ndarray  # (n, m) l / (l + s^2), l the variance along the direction, s^2 the mean along the others

    def shorten(self, X: np.ndarray, voters: np.ndarray, neighbours: Neighbours) -> np.ndarray:
        """(n, k) squared distances from X to its neighbours in the metric of each neighbour.

        With covariance ``C = s^2 I + sum l a a^T``: ``s^2 (x - v)^T C^-1 (x - v)``, that is
        ``|x - v|^2 - sum (a . (x - v))^2 l / (l + s^2)``.
        """
        shortened = neighbours.squared.astype(np.float64)
        for column, nearest in enumerate(neighbours.indices.T):
            known = np.flatnonzero(nearest >= 0)
            gaps = X[known].astype(np.float64) - voters[nearest[known]]
            along = np.einsum("nmd,nd->nm", self.axes[nearest[known]], gaps)
            shortened[known, column] -= (along**2 * self.shares[nearest[known]]).sum(axis=1)
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
