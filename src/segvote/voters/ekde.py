"""eKDE that works: the paper's votes among other bags, with an adaptive bandwidth, renormalised instead of collapsing.

One round of the paper's iteration with equal bandwidths is ``w <- M w``: run to the end it says that nothing is object.
Its *direction*, though, converges; see `segvote.method.walk`. This voter is that walk alone, for tables of bags without
images; `segvote.SegmentAnnotator` is the whole method.
"""

from __future__ import annotations

import numpy as np
from scipy import sparse

from segvote.kernels import build_vote_graph, search_neighbours
from segvote.method.walk import Voice, find_weights
from segvote.voters.base import N_NEIGHBORS, BaseVoter
from segvote.voters.segments import Segments

__all__ = ["EKDE"]


class EKDE(BaseVoter):
    """Expectation kernel density estimation, robust form.

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
        neighbours = self._find_neighbours(segments)
        self.graph_, self.recall_ = neighbours.build_graph(), neighbours.recall
        del neighbours
        voters = np.flatnonzero(segments.positive)
        shares = 1 / np.bincount(segments.bags)[segments.bags[voters]]
        voice = Voice(segments.bags[voters], shares, self.balance)
        self._weights = find_weights(self.graph_, segments.prior, voters, voice, self.n_steps)
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

    def _build_graph(self, X: np.ndarray, bags: np.ndarray) -> sparse.csr_matrix:
        segments = self._segments
        squared, indices = search_neighbours(X, segments.X, self.n_neighbors, bags, segments.bags)
        return build_vote_graph(squared, indices, len(segments))

    def _score(self, X: np.ndarray, bags: np.ndarray, prior: np.ndarray) -> np.ndarray:
        return prior * (self._build_graph(X, bags) @ self._weights) * self._gain

    def _list_votes(self, x: np.ndarray, bag: int, prior: float) -> tuple[np.ndarray, np.ndarray, float]:
        return self._weigh_row(self._build_graph(x[None, :], np.array([bag])), prior)

    def _list_training_votes(self, segment: int) -> tuple[np.ndarray, np.ndarray, float]:
        # The very neighbours that voted: a search of a large set need not find them again.
        return self._weigh_row(self.graph_[[segment]], self._segments.prior[segment])

    def _weigh_row(self, row: sparse.csr_matrix, prior: float) -> tuple[np.ndarray, np.ndarray, float]:
        amounts = row.data * (prior * self._gain * self._weights[row.indices] - self.threshold_)
        # A segment that nobody votes for still has to reach the threshold.
        return row.indices.astype(np.int64), amounts, -self.threshold_ * (1 - row.data.sum())
