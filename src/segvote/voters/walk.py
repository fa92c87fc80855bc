"""The walk over votes: rounds of voting that are renormalised, and votes of which some are left out."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from segvote.kernels import otsu_threshold

__all__ = ["Round", "find_typical", "leave_out", "walk"]

# Votes of which a part is copied to walk over it: more may be mapped from files, and are walked over as they lie.
MOST_COPIED = 10_000_000


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
        largest = np.where(self.free, votes, 0.0).max(axis=0, initial=0.0)
        gain = np.divide(1.0, largest, out=np.ones_like(largest), where=largest > 0)
        return votes * gain, gain

    def clamp(self, votes: np.ndarray) -> np.ndarray:
        return np.where(self.is_object, self.object_weight, np.where(self.free, votes, 0.0))

    def find_voters(self) -> np.ndarray:
        """Numbers of the segments that may weigh anything; all, where a graph of their own would be large."""
        if self.graph.nnz > MOST_COPIED:
            return np.arange(len(self.free))
        may_vote = self.free | self.is_object
        return np.flatnonzero(may_vote if may_vote.ndim == 1 else may_vote.any(axis=1))

    def narrow(self, rows: np.ndarray) -> Round:
        """The same among some of the segments."""
        if len(rows) == len(self.free):
            return self
        is_object = self.is_object if np.ndim(self.is_object) == 0 else np.asarray(self.is_object)[rows]
        return Round(self.graph[rows][:, rows], self.scale[rows], self.free[rows], is_object, self.object_weight)


def walk(rounds: Round, start: np.ndarray, n_steps: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Vote `n_steps` times and once more: the last votes, what their voters weighed, the last scale."""
    # Who weighs nothing is heard by nobody: what is voted for it matters in the end only.
    voters = rounds.find_voters()
    inner = rounds.narrow(voters)
    inner_weights = inner.clamp(start[voters])
    for _ in range(n_steps):
        inner_weights = inner.clamp(inner.vote(inner_weights)[0])
    weights = np.zeros(start.shape)
    weights[voters] = inner_weights
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
