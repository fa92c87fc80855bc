"""Two questions about finished images, on sets whose truth is known, by whole segments.

    python benchmarks/bench_estimate.py [DATA] [--sets glands,potholes] [--out build/suite] [--draws 20]

*interval*: six random images are finished, the others are estimated from them, each left out. How often does the 90 %
interval hold the true mean IoU of the others, with intervals of Student's distribution, of the bootstrap, and of the
beta distribution?

*first*: which image is best finished first: a random one (mean over the draws), the most central one, whose mean
feature is nearest to that of all *with* images, or the one whose mask is most uncertain? Mean IoU of the others.

Runs are those of `suite.py`, and are not changed. The last line is JSON.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
from scipy.special import betaincinv

from segvote.evaluation.segments import CountedTruth, measure_ious
from segvote.method.left_out import LEVEL, choose_left_out, find_interval, measure_iou, predict_left_out
from segvote.method.table import SegmentTable
from segvote.method.teach import teach
from segvote.method.vote import Vote
from segvote.pipeline.corrected_vote import vote
from segvote.pipeline.opening import reopen
from segvote.run.run import Run
from suite import count_truth, list_sets, make_parser

N_FINISHED = 6
N_ROUNDS = 2000  # of the bootstrap
Truths = dict[int, CountedTruth]


def finish(table: SegmentTable, truths: Truths, images: np.ndarray) -> np.ndarray:
    """(n_segments,) shares of segments of these images that are object; NaN elsewhere."""
    finished = np.full(len(table), np.nan)
    for image in images:
        finished[table.images == image] = truths[int(image)].fractions
    return finished


def measure_finished(run_vote: Vote, finished: np.ndarray) -> float:
    """Mean IoU of images whose shares are known, counted as for images left out.

    Pixels that the truth ignores count as background: a finished image has none to ignore.
    """
    table, selected, shares = run_vote.table, run_vote.selection.selected, np.nan_to_num(finished)
    images = np.unique(table.images[~np.isnan(finished)])
    return float(np.mean([measure_iou(table, selected, shares, table.images == image) for image in images]))


def measure_others(run_vote: Vote, truths: Truths, images: np.ndarray) -> float:
    """Mean IoU of the images that were not finished."""
    others = [one for one in truths if one not in images]
    selected, table = run_vote.selection.selected, run_vote.table
    return float(measure_ious([truths[one].measure(selected[table.images == one]) for one in others]).mean())


def find_bootstrap(values: np.ndarray) -> tuple[float, float]:
    """Percentiles of means of values drawn with replacement."""
    drawn = np.random.default_rng(0).choice(values, (N_ROUNDS, len(values))).mean(axis=1)
    low, high = np.quantile(drawn, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return float(low), float(high)


def find_beta(values: np.ndarray) -> tuple[float, float]:
    """Quantiles of a beta distribution with the mean of the values and the variance of that mean."""
    mean, variance = values.mean(), max(values.var(ddof=1) / len(values), 1e-6)
    size = max(mean * (1 - mean) / variance - 1, 1e-3)
    low, high = betaincinv(mean * size + 1e-9, (1 - mean) * size + 1e-9, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return float(low), float(high)


INTERVALS: dict[str, Callable[[np.ndarray], tuple[float, float]]] = {
    "student": find_interval,
    "bootstrap": find_bootstrap,
    "beta": find_beta,
}


def measure_intervals(base: Vote, truths: Truths, n_draws: int) -> dict[str, list]:
    """Left-out IoUs of each draw, and the true mean of the others."""
    rng, rows = np.random.default_rng(0), {"left_out": [], "true": []}
    for _ in range(n_draws):
        images = np.sort(rng.choice(list(truths), min(N_FINISHED, len(truths) // 2), replace=False))
        finished = finish(base.table, truths, images)
        left_out = [predict_left_out(base, finished, image)[1] for image in choose_left_out(base.table, finished)]
        rows["left_out"].append(np.round(left_out, 4).tolist())
        others = finish(base.table, truths, np.setdiff1d(list(truths), images))
        rows["true"].append(round(measure_finished(teach(base, finished), others), 4))
    return rows


def measure_first(base: Vote, truths: Truths, n_draws: int) -> dict[str, float]:
    """Mean IoU of the others after the first image, by how it is chosen."""
    table, images = base.table, np.array(list(truths))
    sums = np.stack([table.shares[table.images == one] @ table.X[table.images == one] for one in images])
    central = images[np.argmin(((sums - sums.mean(axis=0)) ** 2).sum(axis=1))]
    uncertain = images[np.argmax(base.selection.uncertainty[images])]
    certain = images[np.argmin(base.selection.uncertainty[images])]

    def measure(one: int) -> float:
        chosen = np.array([one])
        return measure_others(teach(base, finish(table, truths, chosen)), truths, chosen)

    drawn = np.random.default_rng(1).choice(images, min(n_draws, len(images)), replace=False)
    found = {"random": np.mean([measure(one) for one in drawn]), "before": measure_others(base, truths, np.empty(0))}
    found |= {"central": measure(central), "uncertain": measure(uncertain), "certain": measure(certain)}
    return {name: round(float(value), 4) for name, value in found.items()}


def measure_set(folder: Path, out: Path, n_draws: int) -> dict:
    run = Run(out / folder.name)
    base, truths = vote(reopen(run)).base.source, count_truth(run, folder)
    assert isinstance(base, Vote)
    return {**measure_intervals(base, truths, n_draws), "first": measure_first(base, truths, n_draws)}


def measure_coverage(rows: list[dict], name: str) -> tuple[float, float]:
    """Share of the draws whose interval holds the truth, and mean width of the intervals."""
    pairs = [(np.array(one), true) for row in rows for one, true in zip(row["left_out"], row["true"], strict=True)]
    found = [(INTERVALS[name](values), true) for values, true in pairs]
    holds = [low <= true <= high for (low, high), true in found]
    return float(np.mean(holds)), float(np.mean([high - low for (low, high), _ in found]))


def main() -> None:
    parser = make_parser(__doc__)
    parser.add_argument("--draws", type=int, default=20)
    given = parser.parse_args()
    rows = {}
    for folder in list_sets(given):
        kept = given.out / f"{folder.name}-estimate-{given.draws}.json"
        if not kept.is_file():
            kept.write_text(json.dumps(measure_set(folder, given.out, given.draws)))
        rows[folder.name] = json.loads(kept.read_text())
        holds = "  ".join(f"{name} {measure_coverage([rows[folder.name]], name)[0]:.2f}" for name in INTERVALS)
        print(f"{folder.name:16} {holds}  {rows[folder.name]['first']}", flush=True)
    figures = {name: measure_coverage(list(rows.values()), name) for name in INTERVALS}
    first = {name: float(np.mean([row["first"][name] for row in rows.values()])) for name in rows[folder.name]["first"]}
    summary = {"holds": {name: round(one, 4) for name, (one, _) in figures.items()}}
    summary |= {"width": {name: round(one, 4) for name, (_, one) in figures.items()}}
    print(json.dumps({**summary, "first": {name: round(one, 4) for name, one in first.items()}}))


if __name__ == "__main__":
    main()
