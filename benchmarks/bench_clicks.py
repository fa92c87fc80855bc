"""How long a click of the review takes: written to the disk, passed on to what is like it, packed for the page.

    python benchmarks/bench_clicks.py [--quick]

The median at 20,000 segments, beside the first vote. The last line is JSON.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import numpy as np

from segvote.io.encodings.rle import encode_rle
from segvote.method import SegmentAnnotator
from segvote.review.encoding import encode_update
from segvote.review.snapshot import apply_user, apply_votes, make_snapshot
from segvote.run.correction_log import Action, CorrectionLog
from segvote.run.corrections import fix_segments, replay


def make_segments(n_bags: int, n_per_bag: int, n_dims: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Random features with a planted cluster, (n_segments, n_dims); their bags; which bags are *with*."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_bags * n_per_bag, n_dims)).astype(np.float32)
    positive, bags = np.arange(n_bags) < n_bags // 2, np.repeat(np.arange(n_bags), n_per_bag)
    planted = positive[bags] & (np.arange(len(X)) % n_per_bag < n_per_bag // 10)
    X[planted] += rng.normal(size=n_dims).astype(np.float32) * 2
    return X / np.linalg.norm(X, axis=1, keepdims=True), bags, positive


def time_clicks(n_bags: int, n_per_bag: int, n_clicks: int) -> dict[str, float]:
    """Median seconds from click to packed scores, beside the seconds of the first vote."""
    X, bags, positive = make_segments(n_bags, n_per_bag, 472)
    started = time.perf_counter()
    annotator = SegmentAnnotator().fit(X, positive[bags], images=bags)
    result = annotator.correct(None)
    first = time.perf_counter() - started
    annotator.prepare_corrections()
    labels = np.repeat(np.arange(n_per_bag), 600).reshape(-1, 300)
    offsets, areas = np.arange(n_bags + 1) * n_per_bag, np.full(len(X), 600)
    snapshot = make_snapshot(offsets, areas, positive, result.scores, result.selected, result.thresholds)
    rng, seconds = np.random.default_rng(1), []
    with tempfile.TemporaryDirectory() as folder:
        log = CorrectionLog(Path(folder) / "review.sqlite")
        for _ in range(n_clicks):
            bag, segment = int(rng.integers(n_bags)), int(rng.integers(n_per_bag))
            started = time.perf_counter()
            counts = str(encode_rle(labels == segment)["counts"])
            log.append(Action("set", str(bag), "", int(rng.integers(2)), *labels.shape, counts))
            corrections = replay(log.read())
            user_labels = np.full(len(X), -1, dtype=np.int8)
            for image, strokes in corrections.strokes.items():
                user_labels[int(image) * n_per_bag : (int(image) + 1) * n_per_bag] = fix_segments(strokes, labels)
            told = apply_user(snapshot, replace(snapshot.user, action=corrections.last, user_labels=user_labels))
            result = annotator.correct(user_labels)
            votes = (result.scores, result.selected, result.thresholds, annotator.graph_, result.uncertainty)
            voted = apply_votes(told, *votes)
            encode_update(voted, snapshot.version)
            seconds.append(time.perf_counter() - started)
            snapshot = voted
        log.close()
    median = float(np.median(seconds))
    return {"n_segments": len(X), "first_vote_s": first, "click_s": median, "share": median / first}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer segments")
    quick = parser.parse_args().quick
    figures = time_clicks(20 if quick else 100, 200, 15 if quick else 31)
    print(f"first vote {figures['first_vote_s']:.2f} s, click to scores {1000 * figures['click_s']:.0f} ms")
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
