"""SSKDE: labels spread along the votes, anchored at what is known.

``P_i = (1 - t_i) Y_i + t_i sum_j K_ij P_j``, K the kernels to other bags divided by their sum, t_i how much a segment
listens, Y what it says itself; solved, ``P = (I - T K)^-1 (I - T) Y``. A *without* segment and a segment a person has
corrected do not listen (t = 0). A segment of a *with* bag says 1, on the label's weak word, and listens with `t =
trust_votes`.
"""

from __future__ import annotations

import numpy as np
from scipy import sparse

from segvote.errors import BadInputError
from segvote.kernels import build_vote_graph, search_neighbours
from segvote.voters.base import BaseVoter
from segvote.voters.segments import Segments

__all__ = ["SSKDE", "spread_labels"]


def spread_labels(
    graph: sparse.csr_matrix, said: np.ndarray, listening: np.ndarray, tol: float = 1e-10, max_iter: int = 10_000
) -> tuple[np.ndarray, int]:
    """Solve ``P = (I - T K)^-1 (I - T) Y`` by iterating its fixed point, a contraction by max t.

    Parameters
    ----------
    graph
        (n, n) K, rows sum to at most one.
    said, listening
        (n,) Y and t in [0, 1).

    Returns
    -------
    (n,) P and the number of rounds.
    """
    own = (1 - listening) * said
    values = said.astype(np.float64)
    for n_iter in range(1, max_iter + 1):  # noqa: B007
        updated = own + listening * (graph @ values)
        change = np.abs(updated - values).max(initial=0.0)
        values = updated
        if change <= tol:
            break
    return values, n_iter


class SSKDE(BaseVoter):
    """Semi-supervised kernel density estimation.

    The method is made for labelled objects: corrections of a person are its labels. Without any it lives on the labels.

    Parameters
    ----------
    n_neighbors
        How many segments of other bags each one hears; the bandwidth is each segment's own, as in `EKDE`.
    trust_votes
        t of a segment of a *with* bag nobody has corrected, in [0, 1).

    Attributes
    ----------
    labels_
        (n_segments,) P.

    References
    ----------
    Wang, Hua, Mei, Hong, Qi, Song, Dai: Semi-supervised kernel density estimation for video annotation. CVIU 2009.
    """

    def __init__(self, n_neighbors: int = 40, trust_votes: float = 0.9) -> None:
        self.n_neighbors = n_neighbors
        self.trust_votes = trust_votes

    def _learn(self, segments: Segments) -> np.ndarray:
        if not 0 <= self.trust_votes < 1:
            raise BadInputError(f"trust_votes must lie in [0, 1), or labels never settle; got {self.trust_votes}")
        graph = self._build_graph(segments.X, segments.bags, segments)
        listening = np.where(segments.positive & (segments.user_labels < 0), self.trust_votes, 0.0)
        self.labels_, self.n_iter_ = spread_labels(graph, segments.positive.astype(float), listening)
        return graph @ self.labels_

    def _build_graph(self, X: np.ndarray, bags: np.ndarray, segments: Segments) -> sparse.csr_matrix:
        squared, indices = search_neighbours(X, segments.X, self.n_neighbors, bags, segments.bags)
        return build_vote_graph(squared, indices, len(segments))

    def _score(self, X: np.ndarray, bags: np.ndarray, prior: np.ndarray) -> np.ndarray:
        return self._build_graph(X, bags, self._segments) @ self.labels_

    def _list_votes(self, x: np.ndarray, bag: int, prior: float) -> tuple[np.ndarray, np.ndarray, float]:
        row = self._build_graph(x[None, :], np.array([bag]), self._segments)
        amounts = row.data * (self.labels_[row.indices] - self.threshold_)
        return row.indices.astype(np.int64), amounts, -self.threshold_ * (1 - row.data.sum())
