"""Kernel sums and votes against what a user would take instead; ratios in one run, last line JSON.

python benchmarks/bench_votes.py [--quick]
"""

from __future__ import annotations

import argparse
import json
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from scipy.stats import gaussian_kde
from sklearn.neighbors import KernelDensity

from segvote.datasets import make_bags
from segvote.kernels import search_neighbours, sum_kernel
from segvote.voters.negative.crane import CRANE
from segvote.voters.negative.negatives import NegMin
from segvote.voters.walk import Walk

N_DIMS = 472


def take_best(function: Callable[[], object], repeats: int) -> float:
    """Seconds of the fastest of several runs: the least disturbed one."""
    times = []
    for _ in range(repeats):
        started = time.perf_counter()
        function()
        times.append(time.perf_counter() - started)
    return min(times)


def make_points(n: int, d: int, seed: int = 0) -> np.ndarray:
    points = np.random.default_rng(seed).normal(size=(n, d)).astype(np.float32)
    return points / np.linalg.norm(points, axis=1, keepdims=True)


def compare_with_product(scale: int) -> dict[str, float]:
    """Exact sums against the bare float32 matrix product of the same shape."""
    X, V = make_points(8000 // scale, 1000), make_points(16000 // scale, 1000, seed=1)
    times = {"product": np.inf, "one": np.inf, "two": np.inf}
    for _ in range(3):
        # Side by side in each round, so that a busy moment of the machine hits all three alike.
        times["product"] = min(times["product"], take_best(lambda: X @ V.T, 1))
        times["one"] = min(times["one"], take_best(lambda: sum_kernel(X, V, [0.5]), 1))
        times["two"] = min(times["two"], take_best(lambda: sum_kernel(X, V, [0.5, 1.0]), 1))
    return {
        "exact_over_matmul": times["one"] / times["product"],
        "second_bandwidth_over_first": (times["two"] - times["one"]) / times["one"],
    }


def compare_with_libraries(scale: int) -> dict[str, float]:
    """Exact sums against the densities of scikit-learn and scipy, at a size those can do."""
    X, V = make_points(2000 // scale, 100), make_points(8000 // scale, 100, seed=1)
    ours = take_best(lambda: sum_kernel(X, V, [0.5]), 5)
    density = KernelDensity(bandwidth=0.5).fit(V)
    theirs = take_best(lambda: density.score_samples(X), 1)
    estimate = gaussian_kde(V.T.astype(np.float64), bw_method=0.5)
    return {
        "speedup_vs_sklearn": theirs / ours,
        "speedup_vs_scipy": take_best(lambda: estimate(X.T.astype(np.float64)), 1) / ours,
    }


def read_memory() -> float:
    """Resident megabytes of this process."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmRSS"):
            return int(line.split()[1]) / 1024
    return 0.0


def watch_memory(function: Callable[[], object]) -> float:
    """Largest growth of resident memory while a function runs, in megabytes."""
    before, peak, done = read_memory(), 0.0, threading.Event()

    def watch() -> None:
        nonlocal peak
        while not done.wait(0.01):
            peak = max(peak, read_memory())

    watcher = threading.Thread(target=watch)
    watcher.start()
    function()
    done.set()
    watcher.join()
    return max(0.0, peak - before)


def measure_memory(scale: int) -> dict[str, float]:
    X, V = make_points(20000 // scale, 100), make_points(40000 // scale, 100, seed=1)
    return {"peak_extra_mb": watch_memory(lambda: sum_kernel(X, V, [0.5]))}


def measure_voters(sizes: list[int]) -> tuple[list[dict], dict[str, float]]:
    """Microseconds per added segment of three voters, and the part of Walk.fit that is neighbour search."""
    rows: list[dict] = []
    for n in sizes:
        rows.append(time_voters(n, rows[-1] if rows else None))
        print(format_row(rows[-1]), flush=True)
    return rows, {"search_share": rows[-1]["search"] / rows[-1]["Walk"]}


def time_voters(n_segments: int, smaller: dict | None) -> dict:
    n_bags = n_segments // 400
    X, y, bags, _ = make_bags(n_with=n_bags, n_without=n_bags, n_segments=200, n_dims=N_DIMS)
    X = (X / np.linalg.norm(X, axis=1, keepdims=True)).astype(np.float32)
    row: dict = {"n_segments": n_segments}
    for voter in (Walk, NegMin, CRANE):
        row[voter.__name__] = take_best(lambda voter=voter: voter().fit(X, y, bags=bags), 1)
    row["search"] = take_best(lambda: search_neighbours(X, X, Walk().n_neighbors, bags, bags), 1)
    if smaller is not None:
        added = n_segments - smaller["n_segments"]
        for voter in (Walk, NegMin, CRANE):
            name = voter.__name__
            row[f"{name} us per added"] = 1e6 * (row[name] - smaller[name]) / added
    return row


def format_row(row: dict) -> str:
    return "  ".join(
        f"{name} {value:.3g}" if isinstance(value, float) else f"{name} {value}" for name, value in row.items()
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small sizes, for a look")
    quick = parser.parse_args().quick
    scale = 8 if quick else 1
    results: dict = {}
    for part in (compare_with_product, compare_with_libraries, measure_memory):
        figures = part(scale)
        results |= figures
        for name, value in figures.items():
            print(f"{name:30}{value:10.3f}", flush=True)
    rows, share = measure_voters([1000, 2000, 4000] if quick else [5000, 10000, 20000, 50000])
    results |= share | {"voters": rows}
    print(json.dumps(results))


if __name__ == "__main__":
    sys.exit(main())
