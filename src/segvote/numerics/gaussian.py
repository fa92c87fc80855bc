"""Exact sums of Gaussian kernels, in blocks, so that memory stays bounded.

``k(x, v) = exp(-|x - v|^2 / (2 s^2))``, not normalised to integrate to one. The distances of one block come from one
float32 matrix product and serve every bandwidth; sums run in float32 inside a block and in float64 across blocks.
Blocks have a fixed shape and each is computed by one thread, so the number of threads cannot change the result; rows
are filled up to a multiple of sixteen, so that a segment alone gets the same sum as among others.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from segvote.numerics.points import check_finite, list_blocks
from segvote.numerics.threads import use_one_thread

# One row alone goes through another routine of the BLAS than many rows, and is rounded differently.
ROWS_TOGETHER = 16
QUERIES_PER_BLOCK = 512
VOTERS_PER_BLOCK = 2048
PAIRS_PER_BLOCK = 16384
# Beyond this exponent a float32 kernel is exactly zero.
LARGEST_EXPONENT = 104.0
# Float32 products know d^2 to about this fraction of the largest squared norm.
PRODUCT_ERROR = 4e-7
# Pairs with a smaller error of the exponent are not recomputed.
EXPONENT_ERROR = 1e-4


def sum_kernel(
    queries: np.ndarray,
    voters: np.ndarray,
    bandwidths: Sequence[float] | np.ndarray,
    weights: np.ndarray | None = None,
    query_bags: np.ndarray | None = None,
    voter_bags: np.ndarray | None = None,
    n_threads: int | None = None,
) -> np.ndarray:
    """Sum the kernels of all voters (n_voters, d) at every query (n_queries, d).

    Weights are (n_voters,) or (n_voters, m), 1 by default. Where the bags of both are given, voters of the query's own
    bag are left out. The sums are (n_bandwidths, n_queries) float64, with a third axis for weights of m columns.
    """
    bandwidths = np.asarray(bandwidths, dtype=np.float64)
    weights = np.ones(len(voters)) if weights is None else np.asarray(weights, dtype=np.float64)
    columns = weights[:, None] if weights.ndim == 1 else weights
    check_finite(queries=queries, voters=voters, weights=weights)
    filled = _fill_up(queries)
    sums = np.zeros((len(bandwidths), len(filled), columns.shape[1]))
    if len(voters) and len(queries):
        pair = _Pair(filled, voters, None if query_bags is None else _fill_up(query_bags), voter_bags)
        _add_blocks(pair, bandwidths, columns, sums, n_threads or os.cpu_count() or 1)
    return sums[:, : len(queries)].reshape(len(bandwidths), len(queries), *weights.shape[1:])


def _fill_up(rows: np.ndarray) -> np.ndarray:
    """The rows, the last one repeated until their number is a multiple of sixteen."""
    n_spare = -len(rows) % ROWS_TOGETHER
    return np.concatenate([rows, np.repeat(rows[-1:], n_spare, axis=0)]) if n_spare else rows


def fill_kernel(
    queries: np.ndarray,
    voters: np.ndarray,
    bandwidth: float,
    query_bags: np.ndarray | None = None,
    voter_bags: np.ndarray | None = None,
) -> np.ndarray:
    """(n_queries, n_voters) float32 kernels; for sets that fit in memory."""
    matrix = np.zeros((len(queries), len(voters)), dtype=np.float32)
    if matrix.size == 0:
        return matrix
    pair = _Pair(queries, voters, query_bags, voter_bags)
    with use_one_thread():
        for rows in list_blocks(len(queries), QUERIES_PER_BLOCK):
            for columns in list_blocks(len(voters), VOTERS_PER_BLOCK):
                matrix[rows, columns] = pair.measure_kernel(pair.measure(rows, columns), rows, columns, bandwidth)
    return matrix


def multiply_kernel(matrix: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Kernels (n_queries, n_voters) float32 times weights (n_voters,): sums (n_queries,) float64, as `sum_kernel`."""
    total = np.zeros(len(matrix))
    for part in list_blocks(len(weights), VOTERS_PER_BLOCK):
        total += matrix[:, part] @ weights[part].astype(np.float32)
    return total


class _Pair:
    """Queries and voters, prepared so that one matrix product of a block is minus half its squared distances."""

    def __init__(
        self,
        queries: np.ndarray,
        voters: np.ndarray,
        query_bags: np.ndarray | None,
        voter_bags: np.ndarray | None,
    ) -> None:
        # Distances do not change with the origin; small norms lose fewer digits in the product.
        centre = voters.mean(axis=0, dtype=np.float64)
        self.queries = np.ascontiguousarray(queries - centre, dtype=np.float32)
        self.voters = np.ascontiguousarray(voters - centre, dtype=np.float32)
        self.bags = None if query_bags is None or voter_bags is None else (query_bags, voter_bags)
        self._norms = query_norms, voter_norms = tuple(
            0.5 * np.einsum("ij,ij->i", points, points, dtype=np.float64) for points in (self.queries, self.voters)
        )
        self.error = PRODUCT_ERROR * 2 * max(query_norms.max(), voter_norms.max())
        self._left = np.column_stack([self.queries, -query_norms, np.ones(len(queries))]).astype(np.float32)
        self._right = np.column_stack([self.voters, np.ones(len(voters)), -voter_norms]).astype(np.float32)

    def measure(self, rows: slice, columns: slice) -> np.ndarray:
        """Minus half the squared distances of a block; -inf where the bags are the same."""
        half = self._left[rows] @ self._right[columns].T
        np.minimum(half, 0, out=half)
        if self.bags is not None:
            query_bags, voter_bags = self.bags[0][rows], self.bags[1][columns]
            if np.isin(query_bags, voter_bags).any():
                half[query_bags[:, None] == voter_bags[None, :]] = -np.inf
        return half

    def measure_kernel(
        self, half: np.ndarray, rows: slice, columns: slice, bandwidth: float, out: np.ndarray | None = None
    ) -> np.ndarray:
        if self.error / (2 * bandwidth**2) > EXPONENT_ERROR:
            half = self._sharpen(half, rows, columns, bandwidth)
        kernel = np.multiply(half, np.float32(1 / bandwidth**2), out=out)
        return np.exp(kernel, out=kernel)

    def _sharpen(self, half: np.ndarray, rows: slice, columns: slice, bandwidth: float) -> np.ndarray:
        """Recompute pairs that are near enough to count and far enough from the origin to be wrong.

        The rounding of the product grows with the norms of both, and shows in a narrow kernel.
        """
        far = EXPONENT_ERROR * bandwidth**2 / PRODUCT_ERROR
        far_rows, far_columns = self._norms[0][rows] > far, self._norms[1][columns] > far
        if not (far_rows.any() or far_columns.any()):
            return half
        half = half.copy()
        near = half > -(LARGEST_EXPONENT * bandwidth**2 + self.error)
        near_rows, near_columns = np.nonzero(near & (far_rows[:, None] | far_columns))
        queries, voters = self.queries[rows], self.voters[columns]
        for part in list_blocks(len(near_rows), PAIRS_PER_BLOCK):
            row, column = near_rows[part], near_columns[part]
            gap = voters[column].astype(np.float64) - queries[row]
            half[row, column] = -0.5 * np.einsum("ij,ij->i", gap, gap)
        return half


def _add_blocks(pair: _Pair, bandwidths: np.ndarray, weights: np.ndarray, sums: np.ndarray, n_threads: int) -> None:
    columns = list_blocks(len(weights), VOTERS_PER_BLOCK)
    block_weights = [np.ascontiguousarray(weights[part], dtype=np.float32) for part in columns]

    def add_rows(rows: slice) -> None:
        scratch = np.empty((rows.stop - rows.start, VOTERS_PER_BLOCK), dtype=np.float32)
        for part, part_weights in zip(columns, block_weights, strict=True):
            half = pair.measure(rows, part)
            out = scratch[:, : half.shape[1]]
            for index, bandwidth in enumerate(bandwidths):
                sums[index, rows] += pair.measure_kernel(half, rows, part, bandwidth, out) @ part_weights

    with use_one_thread(), ThreadPoolExecutor(n_threads) as pool:
        list(pool.map(add_rows, list_blocks(len(sums[0]), QUERIES_PER_BLOCK)))
