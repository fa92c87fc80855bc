"""What the false-positive rate of `segvote predict` promises, and what is observed on images never seen.

    python benchmarks/bench_predict.py DATA_SET [--rates 0.05 0.1 0.2] [--jobs 2]

DATA_SET is a folder with ``with``, ``without`` and ``masks``. It is split at random into halves; a run on one half is
applied to the other, and the other way round. The table is that of docs/predict.md; the last line is JSON.
"""

from __future__ import annotations

import argparse
import json
import shutil
import tempfile
from pathlib import Path

import numpy as np
from scipy.stats import binomtest

import segvote
from segvote.io.images import list_images
from segvote.io.masks import read_mask
from segvote.metrics import IMAGE_THRESHOLD, measure_auc, measure_iou
from segvote.steps.prediction.predict import Predictions

SEED = 0


def split_set(source: Path, target: Path) -> list[Path]:
    """Two folders of half the images of each kind."""
    rng, halves = np.random.default_rng(SEED), [target / "first", target / "second"]
    for bag_label in ("with", "without"):
        images = list_images(source / bag_label)
        order = rng.permutation(len(images))
        for half, chosen in zip(halves, np.array_split(order, 2), strict=True):
            (half / bag_label).mkdir(parents=True)
            for number in sorted(chosen):
                shutil.copy(images[number], half / bag_label)
    return halves


def measure_rate(found: dict[str, Predictions], masks: Path) -> dict[str, float]:
    """Figures of one rate: images of both kinds, predicted by the other half."""
    called = [one.contains for one in found["with"].images]
    false = sum(one.contains for one in found["without"].images)
    hits = [
        measure_iou(found["with"].read_mask(index), read_mask(masks / f"{Path(one.name).stem}.png")) > IMAGE_THRESHOLD
        for index, one in enumerate(found["with"].images)
        if one.contains
    ]
    interval = binomtest(false, len(found["without"])).proportion_ci()
    return {
        "false_positive_rate": false,
        "n_without": len(found["without"]),
        "low": float(interval.low),
        "high": float(interval.high),
        "called": float(np.mean(called)),
        "corloc": sum(hits) / len(called),
        "corloc_of_called": float(np.mean(hits)) if hits else 0.0,
    }


def measure_half(run: Path, half: Path, masks: Path, rates: list[float], n_jobs: int) -> list[dict[str, float]]:
    """Figures of all rates for one half, by a run on the other."""
    rows = []
    for rate in rates:
        found = {
            bag_label: segvote.predict(
                run, half / bag_label, half / f"new-{bag_label}", false_positive_rate=rate, n_jobs=n_jobs
            )
            for bag_label in ("with", "without")
        }
        scores = [[one.score for one in found[bag_label].images] for bag_label in ("with", "without")]
        auc = measure_auc(np.concatenate(scores), np.repeat([True, False], [len(part) for part in scores]))
        rows.append({"rate": rate, "auc": float(auc), **measure_rate(found, masks)})
    return rows


def format_row(row: dict[str, float]) -> str:
    observed = f"{row['false_positive_rate']:.0f} of {row['n_without']:.0f} ({row['low']:.2f} .. {row['high']:.2f})"
    figures = " | ".join(f"{row[name]:.2f}" for name in ("called", "corloc", "corloc_of_called"))
    return f"| {row['auc']:.3f} | {row['rate']:.2f} | {observed} | {figures} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data_set", type=Path)
    parser.add_argument("--rates", type=float, nargs="+", default=[0.05, 0.1, 0.2])
    parser.add_argument("--jobs", type=int, default=2)
    arguments = parser.parse_args()
    results = {}
    with tempfile.TemporaryDirectory() as scratch:
        halves = split_set(arguments.data_set, Path(scratch))
        for trained, applied in (halves, halves[::-1]):
            run = trained / "out"
            segvote.annotate(trained / "with", trained / "without", run, n_jobs=arguments.jobs)
            rows = measure_half(run, applied, arguments.data_set / "masks", arguments.rates, arguments.jobs)
            results[f"{trained.name}, {applied.name} half"] = rows
            for row in rows:
                print(f"| {trained.name}, {applied.name} half {format_row(row)}", flush=True)
    print(json.dumps(results))


if __name__ == "__main__":
    main()
