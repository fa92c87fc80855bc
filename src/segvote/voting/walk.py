"""The walk over votes: rounds of voting that are renormalised, and votes of which some are left out."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from segvote.kernels import otsu_threshold

__all__ = ["Round", "find_typical", "leave_out", "walk"]


@dataclass(frozen=True)
class Round:
    """One round of voting and the clamping of what a person said; several votes at once are columns of all arrays.

    A person's object weighs as much as the objects of the first vote do, not 1, which only the best of all segments
    has: at 1 a single odd one would outvote the rest.
    """

    graph: sparse.csr_matrix
    scale: np.ndarray  # what the votes for each segment are multiplied with
    free: np.ndarray  # who votes with the weight it was given
    is_object: np.ndarray | bool = False
    object_weight: np.ndarray | float = 1.0

    def vote(self, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Votes for every segment, scaled so that the best free *with* segment has 1, and the scale."""
        votes = self.scale * (self.graph @ weights)
        largest = np.where(self.free, votes, 0.0).max(axis=0)
        gain = np.divide(1.0, largest, out=np.ones_like(largest), where=largest > 0)
        return votes * gain, gain

    def clamp(self, votes: np.ndarray) -> np.ndarray:
        return np.where(self.is_object, self.object_weight, np.where(self.free, votes, 0.0))


def walk(rounds: Round, start: np.ndarray, n_steps: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Vote `n_steps` times and once more: the last votes, what their voters weighed, the last scale."""
    weights = rounds.clamp(start)
    for _ in range(n_steps):
        weights = rounds.clamp(rounds.vote(weights)[0])
    votes, gain = rounds.vote(weights)
    return votes, weights, gain


def leave_out(graph: sparse.csr_matrix, silent: np.ndarray) -> sparse.csr_matrix:
    """The votes of the others, rows summing to one again."""
    if not silent.any():
        return graph
    amounts = graph.data * ~silent[graph.indices]
    left = sparse.csr_matrix((amounts, graph.indices, graph.indptr), shape=graph.shape)
    heard = np.asarray(left.sum(axis=1)).ravel()
    scale = np.divide(1.0, heard, out=np.zeros_like(heard), where=heard > 0)
    left.data *= np.repeat(scale, np.diff(graph.indptr))
    return left


def find_typical(weights: np.ndarray) -> float:
    """Mean weight of the segments that stand out."""
    voting = weights[weights > 0]
    if len(voting) == 0:
        return 1.0
    high = voting[voting >= otsu_threshold(voting)]
    return float(high.mean())
