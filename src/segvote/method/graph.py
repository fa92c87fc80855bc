"""Who votes for whom: every segment is voted for by its k nearest segments of *other* images.

The bandwidth adapts to each segment: ``s_i`` is half the distance to its k-th neighbour, and the rows of the graph sum
to one, ``M_ij = exp(-(d_ij^2 - d_i1^2) / (2 s_i^2)) / sum``.
"""

from __future__ import annotations

import numpy as np
from scipy import sparse

N_NEIGHBORS = 40


def exclude_voters(graph: sparse.csr_matrix, excluded: np.ndarray) -> sparse.csr_matrix:
    """The votes (n, n) of all but the excluded segments (n,) bool; rows sum to one again, or are empty."""
    if not excluded.any():
        return graph
    votes = graph.data * ~excluded[graph.indices]
    left = sparse.csr_matrix((votes, graph.indices, graph.indptr), shape=graph.shape)
    sums = np.asarray(left.sum(axis=1)).ravel()
    left.data *= np.repeat(np.divide(1.0, sums, out=np.zeros_like(sums), where=sums > 0), np.diff(graph.indptr))
    return left


def subgraph(graph: sparse.csr_matrix, chosen: np.ndarray) -> sparse.csr_matrix:
    """The votes among the chosen segments (numbers), rows not rescaled."""
    return graph[chosen][:, chosen]
