"""Kernel sums and bandwidths as voters use them: one bandwidth, a score that does not depend on who else is asked."""

from __future__ import annotations

import numpy as np

from segvote.kernels import search_neighbours, sum_kernel

__all__ = ["find_typical_distance", "sum_votes"]

# One row alone goes through another routine of the BLAS than many rows, and is rounded differently.
ROWS_TOGETHER = 16


def sum_votes(
    X: np.ndarray,
    voters: np.ndarray,
    bandwidth: float,
    weights: np.ndarray | None = None,
    bags: np.ndarray | None = None,
    voter_bags: np.ndarray | None = None,
) -> np.ndarray:
    """(n,) or (n, m) weighted sums of the voters' kernels at every row of X, own bag left out where bags are given.

    The rows are filled up to a multiple of sixteen, so that a segment asked alone gets the score it gets among others.
    """
    n_spare = -len(X) % ROWS_TOGETHER
    queries = np.concatenate([X, np.repeat(X[-1:], n_spare, axis=0)])
    query_bags = None if bags is None else np.concatenate([bags, np.repeat(bags[-1:], n_spare)])
    return sum_kernel(queries, voters, [bandwidth], weights, query_bags, voter_bags)[0][: len(X)]


def find_typical_distance(
    X: np.ndarray,
    voters: np.ndarray,
    n_neighbors: int,
    bags: np.ndarray | None = None,
    voter_bags: np.ndarray | None = None,
) -> float:
    """Median distance from a segment to its `n_neighbors` nearest voters; 1 where that is 0 or there are none."""
    squared, indices = search_neighbours(X, voters, n_neighbors, bags, voter_bags)
    heard = squared[indices >= 0]
    return float(np.sqrt(np.median(heard))) or 1.0 if len(heard) else 1.0
