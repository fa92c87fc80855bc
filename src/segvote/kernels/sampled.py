"""Sums of Gaussian kernels over sets too large for all pairs: the near voters all, of the far ones a sample.

``sum_j w_j k(x_i, v_j)`` is the exact sum over the nearest voters of i, in which most of a narrow kernel lies, and of
the rest an estimate from a sample that is the same for all i: voters that look alike make a stratum, of each stratum
the same part is drawn, and what is drawn stands for those that are not. The estimate is unbiased whatever the search
for the nearest misses, and comes with its standard error.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from threadpoolctl import threadpool_limits

from segvote.kernels.blocks import list_blocks
from segvote.kernels.gaussian import KernelMatrix, fill_kernel
from segvote.kernels.neighbours import search_neighbours
from segvote.kernels.points import centre_points

N_NEAR = 64
N_STRATA = 32
# The kernels of the sample are kept: so many bytes of them, within these sizes of the sample.
SAMPLE_BYTES = 1 << 29
SMALLEST_SAMPLE, LARGEST_SAMPLE = 256, 4096
# Of which strata are learned, and which are sorted into them at once.
LEARNED = 8192
ROWS_PER_BLOCK = 16_384


class SampledKernel:
    """The kernels between all pairs of two sets, as something to multiply weights with; see the module.

    Parameters
    ----------
    queries, voters
        (n_queries, d), (n_voters, d).
    bandwidth
        Of the kernel.
    query_bags, voter_bags
        (n_queries,), (n_voters,) integers; where both are given, voters of the query's own bag are left out.
    n_near, n_sampled
        Voters summed exactly for each query, None: `N_NEAR`; size of the sample, None: what `SAMPLE_BYTES` allow.
    seed
        Of the sample.
    """

    def __init__(
        self,
        queries: np.ndarray,
        voters: np.ndarray,
        bandwidth: float,
        query_bags: np.ndarray | None = None,
        voter_bags: np.ndarray | None = None,
        *,
        n_near: int | None = None,
        n_sampled: int | None = None,
        seed: int = 0,
    ) -> None:
        squared, indices = search_neighbours(queries, voters, n_near or N_NEAR, query_bags, voter_bags)
        self._near = _weigh_near(squared, indices, len(voters), bandwidth)
        self._farthest = np.exp(-squared[:, -1] / (2 * bandwidth**2))
        self._strata = _Strata(voters, n_sampled or _choose_size(len(queries)), seed)
        drawn = self._strata.drawn
        drawn_bags = None if voter_bags is None else voter_bags[drawn]
        self._far = fill_kernel(queries, voters[drawn], bandwidth, query_bags, drawn_bags)
        # Near segments are not sampled again as far ones.
        places = np.full(len(voters) + 1, -1)
        places[drawn] = np.arange(len(drawn))
        rows, columns = np.nonzero(places[indices] >= 0)
        self._far[rows, places[indices[rows, columns]]] = 0.0

    def multiply(self, weights: np.ndarray) -> np.ndarray:
        """(n_voters,) weights to (n_queries,) estimated sums, float64."""
        strata = self._strata
        scaled = (strata.scales * weights[strata.drawn]).astype(np.float32)
        return self._near @ weights + (self._far @ scaled).astype(np.float64)

    def measure_error(self, weights: np.ndarray) -> np.ndarray:
        """(n_queries,) standard errors of `multiply`.

        From the spread of kernels within each stratum; and because a draw can miss the few that count, as if it had
        missed what one voter stands for, as near as the far ones can be.
        """
        strata, drawn_weights = self._strata, weights[self._strata.drawn]
        blocks = list_blocks(len(self._far), ROWS_PER_BLOCK)
        spread = [strata.measure_variance(self._far[rows] * drawn_weights) for rows in blocks]
        missed = self._farthest * strata.n_missed * np.abs(weights).max(initial=0.0)
        return np.sqrt(np.concatenate([np.zeros(0), *spread]) + missed**2)


class _Strata:
    """Voters that look alike, and those drawn of each: drawn (m,), with how many each stands for, scales (m,)."""

    def __init__(self, voters: np.ndarray, n_sampled: int, seed: int) -> None:
        groups, rng = _group(voters, seed), np.random.default_rng(seed)
        sizes = np.bincount(groups, minlength=N_STRATA)
        wanted = np.ceil(n_sampled * sizes / max(len(voters), 1)).astype(int)
        # One value has no spread.
        self._n_drawn = np.minimum(sizes, np.maximum(wanted, 2))
        parts = [
            np.sort(rng.choice(np.flatnonzero(groups == group), size=n, replace=False))
            for group, n in enumerate(self._n_drawn)
        ]
        self.drawn = np.concatenate(parts)
        self._sizes, self._groups = sizes, np.repeat(np.arange(N_STRATA), self._n_drawn)
        self.scales = (sizes / np.maximum(self._n_drawn, 1))[self._groups]
        self.n_missed = self.scales.max(initial=1.0) - 1

    def measure_variance(self, values: np.ndarray) -> np.ndarray:
        """(n,) squared standard errors of sums over all voters, estimated from `values` (n, m) at those drawn."""
        member = np.equal.outer(self._groups, np.arange(N_STRATA)).astype(np.float64)
        n_drawn = np.maximum(self._n_drawn, 1)
        spread = np.maximum((values**2) @ member - (values @ member) ** 2 / n_drawn, 0)
        factors = self._sizes * (self._sizes - self._n_drawn) / (n_drawn * np.maximum(n_drawn - 1, 1))
        return spread @ factors


def make_kernel(
    queries: np.ndarray,
    voters: np.ndarray,
    bandwidth: float,
    query_bags: np.ndarray | None = None,
    voter_bags: np.ndarray | None = None,
    *,
    is_sampled: bool,
) -> KernelMatrix | SampledKernel:
    """The kernels between two sets, of all pairs or sampled."""
    kind: Any = SampledKernel if is_sampled else KernelMatrix
    return kind(queries, voters, bandwidth, query_bags, voter_bags)  # type: ignore[no-any-return]


def _choose_size(n_queries: int) -> int:
    return int(np.clip(SAMPLE_BYTES // (4 * max(n_queries, 1)), SMALLEST_SAMPLE, LARGEST_SAMPLE))


def _weigh_near(squared: np.ndarray, indices: np.ndarray, n_voters: int, bandwidth: float) -> sparse.csr_matrix:
    is_found = indices >= 0
    pointers = np.concatenate([[0], np.cumsum(is_found.sum(axis=1))])
    kernels = np.exp(-squared[is_found] / (2 * bandwidth**2))
    return sparse.csr_matrix((kernels, indices[is_found], pointers), shape=(len(indices), n_voters))


def _group(voters: np.ndarray, seed: int) -> np.ndarray:
    """(n_voters,) number of the stratum: the nearest of the means of k-means; by one thread, so that all agree."""
    import faiss

    if len(voters) <= N_STRATA:
        return np.arange(len(voters))
    centre = voters.mean(axis=0, dtype=np.float64)
    learned = centre_points(voters[:: max(1, len(voters) // LEARNED)], centre)
    with threadpool_limits(1):
        means = faiss.Kmeans(voters.shape[1], N_STRATA, niter=10, seed=seed, min_points_per_centroid=1)
        means.train(learned)
        parts = [
            means.assign(centre_points(voters[rows], centre))[1] for rows in list_blocks(len(voters), ROWS_PER_BLOCK)
        ]
    return np.concatenate(parts)
