"""A million segments on one machine: seconds, memory, recall and ranking of `Walk` at three sizes; last line JSON.

    python benchmarks/bench_scale.py [--quick] [--part 1000000]

Each size runs in its own process, whose peak memory is measured; quick: a twentieth of each size. The
segments are synthetic: a mixture of many kinds that vary in a few directions each, in bags of a hundred, with an object
planted in the *with* bags beside one of the kinds, some of it looking like that kind, and in every fifth *without* bag
a segment that looks like it.
"""

from __future__ import annotations

import hashlib
import time
from functools import partial
from typing import Any

import numpy as np

from harness import Given, read_peak, run_alone, run_parts
from segvote.metrics import average_precision
from segvote.numerics import Neighbours
from segvote.numerics.approximate import search_all
from segvote.pipeline.table import estimate_memory
from segvote.voters.walk import Walk

N_DIMS, SEGMENTS_PER_BAG, OBJECT_PER_BAG = 472, 100, 5
N_KINDS, N_LATENT = 300, 12  # kinds of segments, and directions in which those of one kind differ
BAG_SPREAD, NOISE = 0.2, 0.7  # of bags and segments: as hard to search as the features of real photographs
N_JUDGED = 1000  # segments whose true neighbours are searched among all
SIZES, QUICK_SHARE = (10_000, 100_000, 1_000_000), 20


def make_set(n_segments: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Features (n, 472) float32 of unit length, bag labels, bags, object or not; a bag at a time, without a copy."""
    rng = np.random.default_rng(seed)
    # Like the features of a network: some directions hold more of the variance than others.
    scale = 1 / (1 + np.arange(N_DIMS) / 200)
    centres = scale * rng.normal(size=(N_KINDS + 1, N_DIMS))
    centres[-1] = centres[0]
    apart = (0.9 * scale * rng.normal(size=N_DIMS)).astype(np.float32)
    spread = (0.12 * scale * rng.normal(size=(N_KINDS + 1, N_LATENT, N_DIMS))).astype(np.float32)
    often = 1 / (10 + np.arange(N_KINDS))
    bags = np.arange(n_segments) // SEGMENTS_PER_BAG
    y = bags % 2
    truth = (y == 1) & (np.arange(n_segments) % SEGMENTS_PER_BAG < OBJECT_PER_BAG)
    looks_like_it = truth | (np.arange(n_segments) % (10 * SEGMENTS_PER_BAG) == 0)
    kinds = np.where(looks_like_it, N_KINDS, rng.choice(N_KINDS, size=n_segments, p=often / often.sum()))
    X = np.empty((n_segments, N_DIMS), np.float32)
    for start in range(0, n_segments, SEGMENTS_PER_BAG):
        rows = slice(start, start + SEGMENTS_PER_BAG)
        latent = rng.normal(size=(SEGMENTS_PER_BAG, 1, N_LATENT)).astype(np.float32)
        X[rows] = centres[kinds[rows]] + (latent @ spread[kinds[rows]])[:, 0]
        # Some of the object is as good as the kind beside it, some is far from it.
        X[rows] += looks_like_it[rows, None] * rng.random((SEGMENTS_PER_BAG, 1), dtype=np.float32) * apart
        X[rows] += BAG_SPREAD * scale * rng.normal(size=N_DIMS)
        X[rows] += NOISE * scale * rng.normal(size=(SEGMENTS_PER_BAG, N_DIMS))
        X[rows] /= np.linalg.norm(X[rows], axis=1, keepdims=True)
    return X, y, bags, truth


def measure_size(n_segments: int) -> dict[str, Any]:
    """One fit, and how its ranking of some segments differs from that with their true neighbours."""
    X, y, bags, truth = make_set(n_segments)
    started, began = time.perf_counter(), time.process_time()
    voter = Walk().fit(X, y, bags=bags)
    return {
        "n_segments": n_segments,
        "seconds": time.perf_counter() - started,
        "processor_seconds": time.process_time() - began,
        "peak_gb": read_peak(),
        "estimated_gb": estimate_memory(*X.shape) / 2**30,
        "recall": voter.recall_,
        "ap": average_precision(voter.scores_, truth),
        "scores": hashlib.sha256(voter.scores_.tobytes()).hexdigest()[:16],  # equal to the last bit
        **judge_sample(voter, X, bags, truth),
    }


def judge_sample(voter: Walk, X: np.ndarray, bags: np.ndarray, truth: np.ndarray) -> dict[str, float]:
    """AP among some segments, by the votes they got and by those of their true neighbours; and the true recall."""
    rng = np.random.default_rng(1)
    # A third of them object: among all, one in forty is, and an AP of few would be chance.
    parts = [(np.flatnonzero(truth), N_JUDGED // 3), (np.flatnonzero(~truth), N_JUDGED - N_JUDGED // 3)]
    rows = np.sort(np.concatenate([rng.choice(part, size=min(n, len(part)), replace=False) for part, n in parts]))
    blocks = np.array_split(rows, max(1, len(rows) // 500))
    true = np.concatenate([search_all(X[one], X, voter.n_neighbors, (bags[one], bags)) for one in blocks])
    found = [voter.graph_.indices[voter.graph_.indptr[row] : voter.graph_.indptr[row + 1]] for row in rows]
    gaps = [((X[one].astype(float) - X[row]) ** 2).sum(axis=1) for row, one in zip(rows, true, strict=True)]
    order = np.argsort(gaps, axis=1)
    squared, indices = (np.take_along_axis(one, order, 1) for one in (np.array(gaps), true))
    graph = Neighbours(squared, indices, len(X)).build_graph()
    judged = truth[rows]
    # Each stands for as many as were there for one of its kind.
    weights = np.where(judged, truth.sum() / judged.sum(), (~truth).sum() / (~judged).sum())
    recalls = [np.isin(a, b).mean() for a, b in zip(true, found, strict=True)]
    return {
        "recall_judged": float(np.average(recalls, weights=weights)),
        "recall_judged_object": float(np.mean(np.array(recalls)[judged])),
        "ap_judged": average_precision(voter.scores_[rows], judged, weights),
        "ap_judged_exact": average_precision(graph @ voter._weights, judged, weights),
    }


def measure_alone(given: Given, n_segments: int) -> dict[str, Any]:
    return run_alone(measure_size, n_segments // QUICK_SHARE if given.quick else n_segments)


if __name__ == "__main__":
    run_parts(__doc__, {str(size): partial(measure_alone, n_segments=size) for size in SIZES})
