"""Any voter with the finishing steps of the method: re-vote with hard labels, and a linear classifier.

The smoothing over adjacent segments and the threshold of each image follow every voter in `annotate` and `compare`.
"""

from __future__ import annotations

import numpy as np
from scipy import sparse
from sklearn.base import clone

from segvote.kernels import Neighbours, otsu_threshold
from segvote.method.graph import N_NEIGHBORS
from segvote.method.linear import LinearPosterior, fit_posterior
from segvote.voters.base import BaseVoter, Votes
from segvote.voters.neighbour_votes import NeighbourVoter
from segvote.voters.segments import Segments


class Finished(NeighbourVoter):
    """A voter whose selection votes once more, beside a classifier of selected against not selected segments.

    The voter's scores are cut at Otsu's threshold of each *with* bag. The share s_i of the nearest segments of other
    bags that was selected is cut the same way; with the labels of this second selection the score is
    ``inside * s + (1 - inside) * p``: s again, inside its mean in the selection, p the posterior of a linear
    classifier.

    Parameters
    ----------
    voter : BaseVoter
        Whose scores are finished.
    n_neighbors : int
        Segments of other bags that vote for each one, on features of length one.

    Attributes
    ----------
    voter_ : BaseVoter
        Fitted.
    selected_ : (n_segments,) bool
        The segments that voted last.
    inside_ : float
        Mean share of selected neighbours in the selection.
    posterior_ : LinearPosterior
        The classifier.
    """

    def __init__(self, voter: BaseVoter, n_neighbors: int = N_NEIGHBORS) -> None:
        self.voter = voter
        self.n_neighbors = n_neighbors

    def _learn(self, segments: Segments) -> np.ndarray:
        labels = segments.bag_labels[segments.bags]
        user_labels = None if (segments.user_labels < 0).all() else segments.user_labels
        self.voter_ = clone(self.voter).fit(segments.X, labels, segments.bags, segments.prior, user_labels)
        X = scale_to_unit(segments.X)
        self._voters = Segments(X, *(getattr(segments, name) for name in SEGMENT_FIELDS))
        graph = Neighbours.search(X, self.n_neighbors, segments.bags).build_graph()
        first = select_by_bag(self.voter_.scores_, segments)
        self.selected_ = select_by_bag(graph @ first.astype(np.float64), segments)
        share = graph @ self.selected_.astype(np.float64)
        self.inside_ = float(share[self.selected_].mean()) if self.selected_.any() else 0.0
        ones = np.ones(len(X))
        self.posterior_: LinearPosterior = fit_posterior(X, self.selected_, ones, ones.astype(bool))
        self.n_iter_ = 2
        return self._join(share, X)

    def _join(self, share: np.ndarray, X: np.ndarray) -> np.ndarray:
        return self.inside_ * share + (1 - self.inside_) * self.posterior_.measure(X)

    def _score(self, X: np.ndarray, bags: np.ndarray, prior: np.ndarray) -> np.ndarray:
        X = scale_to_unit(X)
        return self._join(self._build_graph(X, bags) @ self.selected_.astype(np.float64), X)

    def _list_votes(self, x: np.ndarray, bag: int, prior: float) -> Votes:
        X = scale_to_unit(x[None, :])
        row: sparse.csr_matrix = self._build_graph(X, np.array([bag]))
        amounts = self.inside_ * row.data * self.selected_[row.indices]
        constant = (1 - self.inside_) * float(self.posterior_.measure(X)[0]) - self.threshold_
        return row.indices.astype(np.int64), amounts, constant


SEGMENT_FIELDS = ("positive", "bags", "prior", "user_labels", "bag_labels")


def scale_to_unit(X: np.ndarray) -> np.ndarray:
    """(n, d) float32 rows of length one; zero rows stay zero. Some voters get features of other lengths."""
    lengths = np.linalg.norm(X, axis=1, keepdims=True)
    return np.divide(X, lengths, out=np.zeros(X.shape, dtype=np.float32), where=lengths > 0, casting="same_kind")


def select_by_bag(scores: np.ndarray, segments: Segments) -> np.ndarray:
    """(n_segments,) bool: above Otsu's threshold of the own *with* bag, or its best; user labels hold."""
    selected = np.zeros(len(scores), dtype=bool)
    for bag in np.flatnonzero(segments.bag_labels):
        rows = np.flatnonzero(segments.bags == bag)
        own = scores[rows]
        selected[rows] = (own > otsu_threshold(own)) | (own == own.max())
    return np.where(segments.user_labels >= 0, segments.user_labels == 1, selected)
