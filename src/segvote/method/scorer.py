"""`Scorer`: what a model file stores, and what it takes to score any segment."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse

from segvote.method.graph import exclude_voters
from segvote.method.linear import LinearPosterior
from segvote.numerics import search_neighbours


@dataclass(frozen=True)
class Scorer:
    """Training segments that vote for their neighbours, beside linear classifiers.

    The evidence for a segment is the sum of the votes of its nearest training segments, weighted by the graph, and of
    the classifiers' probabilities, each times its weight.
    """

    X: np.ndarray  # (n_segments, d) features of the training segments
    bags: np.ndarray  # (n_segments,) number of each segment's bag
    votes: np.ndarray  # (n_segments,) vote of each training segment: its label times the weight of the neighbours
    excluded: np.ndarray  # (n_segments,) bool: segments that do not vote
    classifiers: tuple[LinearPosterior, ...]
    threshold: float  # evidence at which scores are zero
    n_neighbors: int  # training segments that vote for each segment

    def sum_evidence(
        self, X: np.ndarray, graph: sparse.csr_matrix, adjacency: sparse.csr_matrix | None = None
    ) -> np.ndarray:
        """(n,) evidence for segments (n, d) by the votes of `build_graph`; adjacency as `SegmentTable.adjacency`."""
        evidence = graph @ self.votes
        for classifier in self.classifiers:
            evidence = evidence + classifier.weight * classifier.measure(X, adjacency)
        return evidence

    def build_graph(self, X: np.ndarray, bags: np.ndarray | None = None) -> sparse.csr_matrix:
        """(n, n_segments) votes of training segments for segments (n, d).

        Training segments of the same bag (n,), of which -1 is none, do not vote.
        """
        neighbours = search_neighbours(X, self.X, self.n_neighbors, bags, self.bags)
        return exclude_voters(neighbours.build_graph(), self.excluded)

    def score(self, X: np.ndarray, graph: sparse.csr_matrix, adjacency: sparse.csr_matrix | None = None) -> np.ndarray:
        """(n,) scores before smoothing of segments (n, d) by the votes of `build_graph`."""
        return self.sum_evidence(X, graph, adjacency) - self.threshold

    def compute_soft_labels(self, scores: np.ndarray) -> np.ndarray:
        """Scores (n,) as soft labels A / (A + B) of eq. 17, in which the threshold stands for the votes against."""
        votes = np.clip(scores + self.threshold, 0.0, None)
        return votes / np.maximum(votes + self.threshold, np.finfo(float).tiny)


def blend_scorers(scorers: Sequence[Scorer], weights: Sequence[float], classifier: LinearPosterior) -> Scorer:
    """The weighted sum of scorers on the same training segments, and of one more classifier; its threshold is 0."""
    votes = sum(weight * scorer.votes for scorer, weight in zip(scorers, weights, strict=True))
    classifiers = [
        replace(one, weight=weight * one.weight)
        for scorer, weight in zip(scorers, weights, strict=True)
        for one in scorer.classifiers
    ]
    return replace(scorers[0], votes=np.asarray(votes), classifiers=(*classifiers, classifier), threshold=0.0)
