"""A million segments on one machine: seconds, memory, recall and ranking of `Walk` at three sizes, and again with all
that is large on disk; two workers of Dask against one; last line JSON.

python benchmarks/bench_scale.py [--quick]
python benchmarks/bench_scale.py --part size 1000000
python benchmarks/bench_scale.py --part disk 1000000

Every size runs in a process of its own, so that its peak memory is its own. The segments are made: a mixture of many
kinds that vary in a few directions each, in bags of a hundred, with an object planted in the *with* bags beside one of
the kinds, some of it looking like that kind, and in every fifth *without* bag a segment that looks like it. What is
made lies in memory already when the clock starts.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import json
import resource
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from segvote.datasets import write_scenes
from segvote.kernels import Neighbours, Workspace, build_vote_graph, neighbours
from segvote.kernels.approximate import search_all
from segvote.metrics import average_precision
from segvote.run.settings import Settings
from segvote.scaling import open_cluster
from segvote.steps.annotate import annotate
from segvote.steps.memory import estimate_need
from segvote.voters.walk import Walk

N_DIMS = 472
SEGMENTS_PER_BAG = 100
OBJECT_PER_BAG = 5
N_KINDS = 300
# Directions in which the segments of one kind differ.
N_LATENT = 12
# How much bags, and segments by accident, differ: as hard to search as the features of real photographs.
BAG_SPREAD, NOISE = 0.2, 0.7
# Segments whose true neighbours are looked for among all.
N_JUDGED = 1000
# Size of the part that is also fitted exactly as a whole.
N_FITTED_TWICE = 40_000
SIZES = (10_000, 100_000, 1_000_000)
QUICK_SIZES = (2_000, 8_000, 32_000)
AT_MOST = {"exponent": 1.3, "peak_gb": 6.0, "ap_difference": 0.01}
AT_LEAST = {"recall": 0.95, "speedup_two_workers": 1.7}


def make_set(
    n_segments: int, seed: int = 0, workspace: Workspace | None = None
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
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
    X = (workspace or Workspace()).make_array((n_segments, N_DIMS), np.float32)
    for start in range(0, n_segments, SEGMENTS_PER_BAG):
        rows = slice(start, start + SEGMENTS_PER_BAG)
        latent = rng.normal(size=(SEGMENTS_PER_BAG, 1, N_LATENT)).astype(np.float32)
        X[rows] = centres[kinds[rows]] + (latent @ spread[kinds[rows]])[:, 0]
        # Some of the object is as good as the kind beside it, some is far from it.
        X[rows] += looks_like_it[rows, None] * rng.random((SEGMENTS_PER_BAG, 1), dtype=np.float32) * apart
        # An image has a light of its own, and every segment its accidents.
        X[rows] += BAG_SPREAD * scale * rng.normal(size=N_DIMS)
        X[rows] += NOISE * scale * rng.normal(size=(SEGMENTS_PER_BAG, N_DIMS))
        X[rows] /= np.linalg.norm(X[rows], axis=1, keepdims=True)
    return X, y, bags, truth


def measure_disk(n_segments: int) -> dict[str, float | str]:
    """One fit with features, index, neighbours and votes in files: the memory that it holds beside them."""
    with tempfile.TemporaryDirectory(dir=".") as folder:
        workspace = Workspace(Path(folder))
        X, y, bags, truth = make_set(n_segments, workspace=workspace)
        began = time.process_time()
        voter = Walk()
        with watch_memory() as held:
            found = Neighbours.search(X, voter.n_searched, bags, workspace)
            voter.take_neighbours(found).fit(X, y, bags=bags)
        need = estimate_need(Settings(), *X.shape)
        return {
            "n_segments": n_segments,
            "processor_seconds": time.process_time() - began,
            "held_gb": max(held) / 2**30,
            "estimated_gb": need.on_disk / 2**30,
            "files_gb": need.files / 2**30,
            "peak_with_mapped_gb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20,
            "recall": voter.recall_,
            "ap": measure_ap(voter, truth),
            "scores": name_scores(voter),
        }


@contextlib.contextmanager
def watch_memory() -> Iterator[list[int]]:
    """Bytes of this process that are no pages of files, looked at every few milliseconds (Linux)."""
    held, is_done = [0], threading.Event()

    def look() -> None:
        while not is_done.wait(0.01):
            status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
            held.append(int(status["RssAnon"].split()[0]) * 1024)

    watcher = threading.Thread(target=look)
    watcher.start()
    try:
        yield held
    finally:
        is_done.set()
        watcher.join()


def name_scores(voter: Walk) -> str:
    """The same for the same scores, to the last bit."""
    return hashlib.sha256(voter.scores_.tobytes()).hexdigest()[:16]


def measure_size(n_segments: int) -> dict[str, float | str]:
    """One fit, and how its ranking of some segments differs from that with their true neighbours."""
    X, y, bags, truth = make_set(n_segments)
    started, began = time.perf_counter(), time.process_time()
    voter = Walk().fit(X, y, bags=bags)
    row = {
        "n_segments": n_segments,
        "seconds": time.perf_counter() - started,
        "processor_seconds": time.process_time() - began,
        "peak_gb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20,
        "features_gb": X.nbytes / 2**30,
        "recall": voter.recall_,
        "ap": measure_ap(voter, truth),
        "scores": name_scores(voter),
    }
    print(json.dumps(row), flush=True)
    return row | judge_sample(voter, X, bags, truth)


def judge_sample(voter: Walk, X: np.ndarray, bags: np.ndarray, truth: np.ndarray) -> dict[str, float]:
    """AP among some segments, by the votes they got and by those of their true neighbours; and the true recall."""
    rng = np.random.default_rng(1)
    # A third of them object: among all, one in forty is, and an AP of few would be chance.
    parts = [(np.flatnonzero(truth), N_JUDGED // 3), (np.flatnonzero(~truth), N_JUDGED - N_JUDGED // 3)]
    rows = np.sort(np.concatenate([rng.choice(part, size=min(n, len(part)), replace=False) for part, n in parts]))
    true = search_truly(X, bags, rows, voter.n_neighbors)
    found = [voter.graph_.indices[voter.graph_.indptr[row] : voter.graph_.indptr[row + 1]] for row in rows]
    gaps = [((X[one].astype(float) - X[row]) ** 2).sum(axis=1) for row, one in zip(rows, true, strict=True)]
    order = np.argsort(gaps, axis=1)
    graph = build_vote_graph(np.take_along_axis(np.array(gaps), order, 1), np.take_along_axis(true, order, 1), len(X))
    exact = graph @ voter._weights
    judged = truth[rows]
    # Each stands for as many as were there for one of its kind.
    weights = np.where(judged, truth.sum() / judged.sum(), (~truth).sum() / (~judged).sum())
    recalls = [np.isin(a, b).mean() for a, b in zip(true, found, strict=True)]
    return {
        "recall_judged": float(np.average(recalls, weights=weights)),
        "recall_judged_object": float(np.mean(np.array(recalls)[judged])),
        "ap_judged": average_precision(voter.scores_[rows], judged, weights),
        "ap_judged_exact": average_precision(exact, judged, weights),
    }


def search_truly(X: np.ndarray, bags: np.ndarray, rows: np.ndarray, k: int) -> np.ndarray:
    """(n_rows, k) true neighbours, a few rows at a time."""
    parts = np.array_split(rows, max(1, len(rows) // 500))
    return np.concatenate([search_all(X[part], X, k, bags[part], bags) for part in parts])


def fit_twice(n_segments: int) -> dict[str, float]:
    """AP of a part of the set, fitted by the search that its size would get in a larger set, and exactly."""
    X, y, bags, truth = make_set(n_segments)
    usual = neighbours.EXACT_PAIRS
    row: dict[str, float] = {"n_fitted_twice": n_segments}
    for name, pairs in (("approximate", 0), ("exact", np.inf)):
        neighbours.EXACT_PAIRS = pairs  # type: ignore[assignment]
        started = time.perf_counter()
        voter = Walk().fit(X, y, bags=bags)
        row |= {f"seconds_{name}": time.perf_counter() - started, f"ap_{name}": measure_ap(voter, truth)}
        row[f"recall_{name}"] = voter.recall_
    neighbours.EXACT_PAIRS = usual
    return row


def measure_ap(voter: Walk, truth: np.ndarray) -> float:
    return average_precision(voter.scores_, truth)


def compare_workers(n_images: int) -> dict[str, float]:
    """Seconds of segmentation and features with one worker of Dask and with two, and bytes of a run per image."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_scenes(folder, n_with=n_images // 2, n_without=n_images - n_images // 2)
        seconds = [time_extracting(folder, n_workers) for n_workers in (1, 2)]
        sizes = {
            f"{part}_bytes_per_image": sum(file.stat().st_size for file in (folder / "2" / part).rglob("*")) / n_images
            for part in ("segments", "features", "masks", "heatmaps", "votes", "model")
        }
    return {"n_images": n_images, "seconds_one": seconds[0], "seconds_two": seconds[1]} | {
        "speedup_two_workers": seconds[0] / seconds[1],
        **sizes,
    }


def time_extracting(folder: Path, n_workers: int) -> float:
    out = folder / str(n_workers)
    with open_cluster(n_workers) as cluster:
        # Packages and network are loaded before the clock starts, as they are for most images of a large run.
        cluster.client.run(load_parts)
        annotate(folder / "with", folder / "without", out, parallel_map=cluster.map)
    steps = [json.loads(line) for line in (out / "log.jsonl").read_text().splitlines()]
    return next(step["seconds"] for step in steps if step["step"] == "extract")


def load_parts() -> None:
    from segvote.features import make_features
    from segvote.segmentation import SEGMENTERS

    image = np.random.default_rng(0).integers(256, size=(64, 64, 3), dtype=np.uint8)
    settings = Settings()
    labels = SEGMENTERS[settings.segmenter](image, n_segments=10).labels
    make_features(settings.features).extract(image, labels.astype(np.int32))


def run_alone(part: str, n_segments: int) -> dict[str, float]:
    """One part in a process of its own; what it prints last is its figures."""
    command = [sys.executable, __file__, "--part", part, str(n_segments)]
    figures = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()[-1])
    print(
        "  ".join(f"{n} {value if isinstance(value, str) else f'{value:.4g}'}" for n, value in figures.items()),
        flush=True,
    )
    return figures


def find_exponent(rows: list[dict[str, float]], clock: str) -> float:
    """Slope of time over size, both as logarithms, by least squares."""
    sizes, seconds = ([row[name] for row in rows] for name in ("n_segments", clock))
    return float(np.polyfit(np.log(sizes), np.log(seconds), 1)[0])


def sum_up(rows: list[dict], disk: dict, twice: dict, workers: dict) -> dict:
    largest = rows[-1]
    found = {
        "exponent": find_exponent(rows, "seconds"),
        # On a machine that others use, too, the truer one.
        "exponent_processor": find_exponent(rows, "processor_seconds"),
        "peak_gb": largest["peak_gb"],
        "recall": min(row["recall_judged"] for row in rows),
        "ap_difference": max(
            abs(twice["ap_approximate"] - twice["ap_exact"]),
            *(abs(row["ap_judged"] - row["ap_judged_exact"]) for row in rows),
        ),
    }
    found["speedup_two_workers"] = workers["speedup_two_workers"]
    met = {name: found[name] <= goal for name, goal in AT_MOST.items()}
    met |= {name: found[name] >= goal for name, goal in AT_LEAST.items()}
    # The bound of memory is kept, and nothing else changes.
    met["disk"] = disk["held_gb"] <= disk["estimated_gb"] and disk["scores"] == largest["scores"]
    return found | {"met": met, "sizes": rows, "disk": disk, "twice": twice, "workers": workers}


PARTS = {"size": measure_size, "disk": measure_disk, "twice": fit_twice, "workers": compare_workers}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small sizes, for a look")
    parser.add_argument("--part", nargs=2, metavar=("PART", "N"), help="one part in this process")
    options = parser.parse_args()
    if options.part:
        print(json.dumps(PARTS[options.part[0]](int(options.part[1]))))
        return
    rows = [run_alone("size", n) for n in (QUICK_SIZES if options.quick else SIZES)]
    disk = run_alone("disk", int(rows[-1]["n_segments"]))
    twice = run_alone("twice", N_FITTED_TWICE // (5 if options.quick else 1))
    workers = run_alone("workers", 8 if options.quick else 48)
    print(json.dumps(sum_up(rows, disk, twice, workers)))


if __name__ == "__main__":
    sys.exit(main())
