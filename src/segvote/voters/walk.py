"""The walk, the walk on features fitted to the bag labels, and the finishing steps of the method behind any voter.

One round of the paper's iteration (eq. 17) with equal bandwidths is ``w <- M w``, which converges to 0; its *direction*
converges too, see `segvote.method.walk`. `Walk` is that walk alone; `segvote.SegmentAnnotator` is the whole method.
Smoothing over adjacent segments and the threshold of each image follow every voter in `annotate` and `compare`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse
from sklearn.base import clone

from segvote.errors import BadInputError
from segvote.method.graph import N_NEIGHBORS, stretch
from segvote.method.hypotheses import VoteParams
from segvote.method.linear import LinearPosterior, fit_posterior
from segvote.method.walk import find_weights
from segvote.numerics import otsu_threshold, search_neighbours
from segvote.voters.base import BaseVoter, Segments, Votes
from segvote.voters.kernel_votes import NeighbourVoter
from segvote.voters.linear import CAM


@dataclass(eq=False, repr=False)
class Walk(NeighbourVoter):
    """Eq. 17 with equal bandwidths as a walk over nearest neighbours.

    Every segment is voted for by its `n_neighbors` nearest segments of other bags, *with* and *without* together, with
    a bandwidth of its own. ``w <- g * (M w)``, divided by its largest value, `n_steps` times from ``w = 1`` on *with*
    and 0 on *without* segments. The score is the last vote less the threshold: every neighbour j adds
    ``M_ij (w_j - threshold)``.

    Parameters
    ----------
    n_neighbors : int
        How many segments vote for each one.
    n_steps : int
        Rounds of voting.

    Attributes
    ----------
    graph_ : (n_segments, n_segments) sparse
        The votes M, rows sum to one.
    recall_ : float
        Part of the true neighbours that the search found: 1 up to some 25,000 segments, measured beyond.

    References
    ----------
    Wang, Li, Lu: Weakly supervised segment annotation via expectation kernel density estimation. arXiv 1812.06228.
    """

    n_neighbors: int = N_NEIGHBORS
    n_steps: int = VoteParams.n_steps

    @property
    def n_searched(self) -> int:
        return self.n_neighbors

    def _learn(self, segments: Segments) -> None:
        X, bags = segments.X, segments.bags
        neighbours = self._neighbours or search_neighbours(X, X, self.n_neighbors, bags, bags)
        self.graph_, self.recall_, self._voters = neighbours.build_graph(), neighbours.recall, segments
        voters = segments.positive
        self._weights = find_weights(self.graph_, segments.prior, voters, self.n_steps)
        largest = (segments.prior * (self.graph_ @ self._weights))[voters].max(initial=0.0)
        self._gain = 1 / largest if largest > 0 else 1.0
        self.n_iter_ = self.n_steps

    def _score_training(self, segments: Segments) -> np.ndarray:
        return segments.prior * (self.graph_ @ self._weights) * self._gain

    def _weigh(self, raw: np.ndarray, segments: Segments) -> np.ndarray:
        weights = np.where(segments.positive, np.clip(raw, 0.0, 1.0), 0.0)
        return np.where(segments.user_labels >= 0, segments.user_labels, weights)

    def _posterior(self, raw: np.ndarray) -> np.ndarray:
        # A / (A + B) of eq. 17, with the threshold standing for the votes against.
        return raw / np.maximum(raw + self.threshold_, np.finfo(float).tiny)

    def _score(self, X: np.ndarray, bags: np.ndarray, prior: np.ndarray) -> np.ndarray:
        return prior * (self._build_graph(X, bags) @ self._weights) * self._gain

    def _list_votes(self, x: np.ndarray, bag: int, prior: float) -> Votes:
        return self._split_row(self._build_graph(x[None, :], np.array([bag])), prior * self._gain * self._weights)

    def _list_training_votes(self, segment: int) -> Votes:
        # Not searched again: an approximate search of a large set may find other neighbours.
        weights = self._segments.prior[segment] * self._gain * self._weights
        return self._split_row(self.graph_[[segment]], weights)


@dataclass(eq=False, repr=False)
class AdaptedWalk(Walk):
    """`Walk` on features that are stretched along the direction which separates the bags, `direction_` (d,).

    It is that of a logistic regression on the mean features of bags (`CAM`). Training the last linear layer of a
    network with its head on image labels changes features along it.
    """

    gain: float = 8.0  # how far features are stretched; 1 is `Walk`

    @property
    def n_searched(self) -> int:
        return 0  # neighbours of the features as they came are not these

    def _learn(self, segments: Segments) -> None:
        if not self.gain > 0:
            raise BadInputError(f"gain must be above 0; got {self.gain}")
        classifier = CAM()
        classifier._learn(segments)
        length = float(np.linalg.norm(classifier.coef_))
        self.direction_ = classifier.coef_ / length if length > 0 else classifier.coef_
        super()._learn(replace(segments, X=self._adapt(segments.X)))

    def _build_graph(self, X: np.ndarray, bags: np.ndarray) -> sparse.csr_matrix:
        return super()._build_graph(self._adapt(X), bags)

    def _adapt(self, X: np.ndarray) -> np.ndarray:
        return stretch(X, self.direction_, self.gain)


@dataclass(eq=False, repr=False)
class Revote(NeighbourVoter):
    """A voter whose selection votes once more, beside a classifier of selected against not selected segments.

    The scores of `voter` are cut at Otsu's threshold of each *with* bag. The share s_i of the nearest segments of other
    bags that was selected is cut the same way, to `selected_`; with these labels the score is
    ``inside * s + (1 - inside) * p``: s again, inside its mean in the selection, p the posterior of a linear
    classifier.
    """

    voter: BaseVoter
    n_neighbors: int = N_NEIGHBORS  # segments of other bags that vote for each one, on features of length one

    def _learn(self, segments: Segments) -> None:
        labels = segments.bag_labels[segments.bags]
        user_labels = None if (segments.user_labels < 0).all() else segments.user_labels
        self.voter_ = clone(self.voter).fit(segments.X, labels, segments.bags, segments.prior, user_labels)
        X = scale_to_unit(segments.X)
        self._voters = replace(segments, X=X)
        graph = search_neighbours(X, X, self.n_neighbors, segments.bags, segments.bags).build_graph()
        first = select_by_bag(self.voter_.scores_, segments)
        self.selected_ = select_by_bag(graph @ first.astype(np.float64), segments)
        self._share = graph @ self.selected_.astype(np.float64)
        self.inside_ = float(self._share[self.selected_].mean()) if self.selected_.any() else 0.0
        ones = np.ones(len(X))
        self.posterior_: LinearPosterior = fit_posterior(X, self.selected_, ones, ones.astype(bool))
        self.n_iter_ = 2

    def _score_training(self, segments: Segments) -> np.ndarray:
        return self._join(self._share, self._voters.X)

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
