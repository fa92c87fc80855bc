"""Kernel sums against libraries, and the vote against its search for neighbours; ratios within one run.

python benchmarks/bench_votes.py [--part PART] [--quick]
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from scipy.stats import gaussian_kde
from sklearn.neighbors import KernelDensity

from harness import Given, run_parts, take_least
from segvote.datasets import make_bags
from segvote.kernels import Neighbours, sum_kernel
from segvote.method import SegmentAnnotator
from segvote.method.graph import N_NEIGHBORS
from segvote.voters import VOTERS

N_DIMS = 472


def make_points(n: int, d: int, seed: int = 0) -> np.ndarray:
    points = np.random.default_rng(seed).normal(size=(n, d)).astype(np.float32)
    return points / np.linalg.norm(points, axis=1, keepdims=True)


def compare_sums(given: Given) -> dict[str, Any]:
    """Exact sums against the bare float32 matrix product of the same shape, and against densities of libraries."""
    scale = 8 if given.quick else 1
    X, V = make_points(8000 // scale, 1000), make_points(16000 // scale, 1000, seed=1)
    product, one, two = (
        take_least(function)
        for function in (
            lambda: X @ V.T,
            lambda: sum_kernel(X, V, [0.5]),
            lambda: sum_kernel(X, V, [0.5, 1.0]),
        )
    )
    few, many = make_points(2000 // scale, 100), make_points(8000 // scale, 100, seed=1)
    ours = take_least(lambda: sum_kernel(few, many, [0.5]), 5)
    density, estimate = KernelDensity(bandwidth=0.5).fit(many), gaussian_kde(many.T.astype(float), bw_method=0.5)
    return {
        "exact_over_matmul": one / product,
        "second_bandwidth_over_first": (two - one) / one,
        "speedup_vs_sklearn": take_least(lambda: density.score_samples(few), 1) / ours,
        "speedup_vs_scipy": take_least(lambda: estimate(few.T.astype(float)), 1) / ours,
    }


def compare_votes(given: Given) -> dict[str, Any]:
    """Processor seconds of the vote over those of its search, and seconds of some voters, by the number of segments."""
    figures = {}
    for n_segments in (1000, 4000) if given.quick else (5000, 10000, 20000, 50000):
        n_bags = n_segments // 400
        X, y, bags, _ = make_bags(n_with=n_bags, n_without=n_bags, n_segments=200, n_dims=N_DIMS)
        X = (X / np.linalg.norm(X, axis=1, keepdims=True)).astype(np.float32)
        found = Neighbours.search(X, N_NEIGHBORS, bags)
        search = take_least(lambda X=X, bags=bags: Neighbours.search(X, N_NEIGHBORS, bags), 1, time.process_time)
        vote = take_least(
            lambda X=X, y=y, bags=bags, found=found: SegmentAnnotator().fit(X, y, images=bags, neighbours=found),
            1,
            time.process_time,
        )
        figures[f"vote_over_search_{n_segments}"] = vote / search
        for name in ("negmin", "crane"):
            seconds = take_least(lambda X=X, y=y, bags=bags, name=name: VOTERS[name]().fit(X, y, bags=bags), 1)
            figures[f"{name}_seconds_{n_segments}"] = seconds
    return figures


if __name__ == "__main__":
    run_parts(__doc__, {"sums": compare_sums, "votes": compare_votes})
