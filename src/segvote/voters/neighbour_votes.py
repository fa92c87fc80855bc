"""Voters that aggregate the votes of each segment's nearest neighbours in other bags, with a bandwidth of its own."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from segvote.kernels import build_vote_graph, search_neighbours
from segvote.voters.base import BaseVoter, Votes
from segvote.voters.segments import Segments


class NeighbourVoter(BaseVoter):
    """Base of the voters ``f(x) = sum_j M_xj w_j``: M the votes of the nearest segments, rows sum to one.

    A voter keeps the segments that vote as `_voters`.
    """

    n_neighbors: int
    _voters: Segments

    def _build_graph(self, X: np.ndarray, bags: np.ndarray) -> sparse.csr_matrix:
        voters = self._voters
        squared, indices = search_neighbours(X, voters.X, self.n_neighbors, bags, voters.bags)
        return build_vote_graph(squared, indices, len(voters))

    def _split_row(self, row: sparse.csr_matrix, weights: np.ndarray) -> Votes:
        """Every neighbour j adds ``M_xj (w_j - threshold)``."""
        amounts = row.data * (weights[row.indices] - self.threshold_)
        # A segment without votes still has to reach the threshold.
        return row.indices.astype(np.int64), amounts, -self.threshold_ * (1 - row.data.sum())
