"""One ballot: the segments, who votes for whom, user labels, and the few operations every round is made of."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from segvote.method.decide import choose_power, decide
from segvote.method.table import SegmentTable


@dataclass(frozen=True)
class Ballot:
    """What a round of votes is held on.

    Attributes
    ----------
    table : SegmentTable
        The segments.
    graph : (n_segments, n_segments) sparse
        Votes of the segments that are not excluded; rows sum to one.
    excluded : (n_segments,) bool
        Segments of images that are likely mislabelled: they are annotated, but do not vote.
    user_labels : (n_segments,) int8
        -1 unknown, 0 background, 1 object.
    smoothing : float
        Part of a score that comes from adjacent segments that look alike (the paper's second voting).
    """

    table: SegmentTable
    graph: sparse.csr_matrix
    excluded: np.ndarray
    user_labels: np.ndarray
    smoothing: float

    @property
    def voters(self) -> np.ndarray:
        """Numbers of the segments that may be object and vote."""
        candidates = self.table.is_candidate & ~self.excluded & (self.user_labels != 0)
        return np.flatnonzero(candidates | (self.user_labels == 1))

    def smooth(self, scores: np.ndarray) -> np.ndarray:
        """(1 - l) f_i + l times the mean of the adjacent segments that look alike."""
        return (1 - self.smoothing) * scores + self.smoothing * (self.table.adjacency @ scores)

    def count_share(self, labels: np.ndarray) -> np.ndarray:
        """(n_segments,) weighted share of each segment's neighbours that is selected; labels in [0, 1]."""
        return self.graph @ labels.astype(np.float64)

    def split(self, values: np.ndarray) -> list[np.ndarray]:
        """Values of the segments of each *with* image."""
        return [values[self.table.get_slice(image)] for image in map(int, np.flatnonzero(self.table.positive))]

    def select(self, scores: np.ndarray, rule: str = "otsu") -> tuple[np.ndarray, np.ndarray]:
        """Selected segments (n_segments,), without the user's word, and thresholds (n_images,), 0 for *without*."""
        selected, thresholds = np.zeros(len(self.table), dtype=bool), np.zeros(self.table.n_images)
        chosen, found = decide(self.split(scores), self.split(self.table.areas), rule)
        selected[self.table.is_candidate] = np.concatenate(chosen)
        thresholds[self.table.positive] = found
        return selected, thresholds

    def select_separable(self, votes: np.ndarray) -> np.ndarray:
        """Selected segments (n_segments,) of the walk's votes, raised to the power that separates them best."""
        votes = np.maximum(votes, 0.0)
        return self.select(votes ** choose_power(self.split(votes), self.split(self.table.areas)))[0]

    def obey(self, selected: np.ndarray) -> np.ndarray:
        """The selection in which user labels hold."""
        return np.where(self.user_labels >= 0, self.user_labels == 1, selected)

    def revote(self, labels: np.ndarray) -> np.ndarray:
        """Selected segments after one more round, in which the labels (n_segments,) in [0, 1] of the last one vote."""
        return self.obey(self.select(self.smooth(self.count_share(labels)))[0])
