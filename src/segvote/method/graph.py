"""The k-nearest-neighbour graph across images: every segment is voted for by its k nearest segments of other bags.

The bandwidth adapts to each segment: ``s_i`` is half the distance to its k-th neighbour, and the rows of the graph sum
to one, ``M_ij = exp(-(d_ij^2 - d_i1^2) / (2 s_i^2)) / sum``. `stretch` prepares the features of the second graph, see
`second_vote`.
"""

from __future__ import annotations

import numpy as np
from scipy import sparse

from segvote.method.table import SegmentTable
from segvote.numerics import search_neighbours
from segvote.numerics.points import list_blocks

N_NEIGHBORS = 40
ROWS_PER_BLOCK = 1024


def search_graph(table: SegmentTable, n_neighbors: int = N_NEIGHBORS) -> sparse.csr_matrix:
    """(n_segments, n_segments) votes M of the nearest segments of other bags."""
    return search_neighbours(table.X, table.X, n_neighbors, table.bags, table.bags).build_graph()


def exclude_voters(graph: sparse.csr_matrix, excluded: np.ndarray) -> sparse.csr_matrix:
    """The votes (n, n) of all but the excluded segments (n,) bool; rows sum to one again, or are empty."""
    if not excluded.any():
        return graph
    votes, counts = graph.data * ~excluded[graph.indices], np.diff(graph.indptr)
    left = sparse.csr_matrix((votes, graph.indices, graph.indptr), shape=graph.shape)
    sums = np.asarray(left.sum(axis=1)).ravel()
    factors = np.divide(1.0, sums, out=np.zeros_like(sums), where=sums > 0)
    if (counts == counts[0]).all():  # as a rule: a product of rows takes a third of the time
        votes.reshape(len(counts), -1)[:] *= factors[:, None]
    else:
        votes *= np.repeat(factors, counts)
    return left


def stretch(X: np.ndarray, direction: np.ndarray, gain: float) -> np.ndarray:
    """(n, d) ``x + (gain - 1) (u . x) u``: features stretched along u (d,), of length one or zero."""
    stretched = np.empty_like(X)
    # A few rows at a time: in float64 all of them would be the largest array of a vote.
    for rows in list_blocks(len(X), ROWS_PER_BLOCK):
        # Sums over columns, not products: a row's rounding then does not depend on how many rows there are.
        along = np.einsum("ij,j->i", X[rows].astype(np.float64), direction)
        stretched[rows] = X[rows] + (gain - 1) * along[:, None] * direction
    return stretched
