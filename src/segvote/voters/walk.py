"""The walk: the paper's votes among other bags, with an adaptive bandwidth, renormalised after every step.

One round of the paper's iteration (eq. 17) with equal bandwidths is ``w <- M w``, which converges to 0; its *direction*
converges too, see `segvote.method.walk`. This voter is that walk alone; `segvote.SegmentAnnotator` is the whole method.
"""

from __future__ import annotations

import numpy as np

from segvote.method.graph import N_NEIGHBORS
from segvote.method.walk import ImageBalance, find_weights
from segvote.voters.base import Votes
from segvote.voters.neighbour_votes import NeighbourVoter
from segvote.voters.segments import Segments


class Walk(NeighbourVoter):
    """Eq. 17 with equal bandwidths as a walk over nearest neighbours.

    Every segment is voted for by its `n_neighbors` nearest segments of other bags, *with* and *without* together, with
    a bandwidth of its own. ``w <- g * (M w)``, divided by its largest value, `n_steps` times from ``w = 1`` on *with*
    and 0 on *without* segments. The score is the last vote less the threshold: every neighbour j adds
    ``M_ij (w_j - threshold)``.

    Parameters
    ----------
    n_neighbors
        How many segments vote for each one.
    n_steps
        Rounds of voting.
    balance
        0: bags vote with the weights they have; 1: all bags have the same mean weight.

    Attributes
    ----------
    graph_
        (n_segments, n_segments) sparse: the votes M, rows sum to one.
    recall_
        Part of the true neighbours that the search found: 1 up to some 25,000 segments, measured beyond.

    References
    ----------
    Wang, Li, Lu: Weakly supervised segment annotation via expectation kernel density estimation. arXiv 1812.06228.
    """

    def __init__(self, n_neighbors: int = N_NEIGHBORS, n_steps: int = 60, balance: float = 0.0) -> None:
        self.n_neighbors = n_neighbors
        self.n_steps = n_steps
        self.balance = balance

    @property
    def n_searched(self) -> int:
        return self.n_neighbors

    def _learn(self, segments: Segments) -> np.ndarray:
        neighbours = self._find_neighbours(segments, self.n_neighbors)
        self.graph_, self.recall_, self._voters = neighbours.build_graph(), neighbours.recall, segments
        del neighbours
        voters = np.flatnonzero(segments.positive)
        shares = 1 / np.bincount(segments.bags)[segments.bags[voters]]
        balance = ImageBalance(segments.bags[voters], shares, self.balance)
        self._weights = find_weights(self.graph_, segments.prior, voters, balance, self.n_steps)
        votes = segments.prior * (self.graph_ @ self._weights)
        largest = votes[voters].max(initial=0.0)
        self._gain = 1 / largest if largest > 0 else 1.0
        self.n_iter_ = self.n_steps
        return votes * self._gain

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
        # The very neighbours that voted: a search of a large set need not find them again.
        weights = self._segments.prior[segment] * self._gain * self._weights
        return self._split_row(self.graph_[[segment]], weights)
