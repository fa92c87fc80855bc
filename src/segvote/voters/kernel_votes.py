"""Kernel sums and bandwidths as voters use them: one bandwidth at a time."""

from __future__ import annotations

import numpy as np

from segvote.errors import BadInputError
from segvote.kernels import search_neighbours, sum_kernel

__all__ = ["check_bandwidth", "find_typical_distance", "measure_relative_error", "sum_votes"]


def check_bandwidth(bandwidth: float) -> float:
    """The bandwidth itself, if it is one."""
    if not bandwidth > 0:
        raise BadInputError(f"a bandwidth must be above 0; got {bandwidth}")
    return float(bandwidth)


def sum_votes(
    X: np.ndarray,
    voters: np.ndarray,
    bandwidth: float,
    weights: np.ndarray | None = None,
    bags: np.ndarray | None = None,
    voter_bags: np.ndarray | None = None,
) -> np.ndarray:
    """(n,) or (n, m) weighted sums of the voters' kernels at every row of X, own bag left out where bags are given."""
    return sum_kernel(X, voters, [bandwidth], weights, bags, voter_bags)[0]


def find_typical_distance(
    X: np.ndarray,
    voters: np.ndarray,
    n_neighbors: int,
    bags: np.ndarray | None = None,
    voter_bags: np.ndarray | None = None,
) -> float:
    """Median distance from a segment to its `n_neighbors` nearest voters; 1 where that is 0 or there are none."""
    squared, indices = search_neighbours(X, voters, n_neighbors, bags, voter_bags)
    found = squared[indices >= 0]
    return float(np.sqrt(np.median(found))) or 1.0 if len(found) else 1.0


def measure_relative_error(errors: np.ndarray, sums: np.ndarray) -> float:
    """Standard errors of sums relative to these: what 95 % of the segments stay below."""
    relative = np.divide(errors, sums, out=np.zeros(len(sums)), where=sums > 0)
    return float(np.quantile(relative, 0.95)) if len(relative) else 0.0
