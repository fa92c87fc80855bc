"""How much k finished images teach the others, against other learners on the same labels, and what single clicks do.

    python benchmarks/bench_teach.py SET [SET ...] [--runs build/suite] [--finished 1,2,3,5] [--draws 3] [--segments]
    python benchmarks/bench_teach.py SET [SET ...] --clicks 20

The true masks of k random *with* images are given; CorLoc and mean IoU of the other images are those of the drawn masks
(``--segments``: of whole segments, which is quicker) of

default   the vote without them;
taught    the vote that they teach, see `segvote.method.teach.teach`;
refit     the vote with their segments as user labels, in its last round only;
logistic  logistic regression on the features of their segments, object where its probability is above one half;
forest    a random forest on the same, as ilastik has it;
logistic-decided, forest-decided
          the same, smoothed and cut by the method's own decision in each image: one half is no fair cut of a forest
          that saw one image, whose probabilities are ordered well and all below it;
extent    the extent of the default that is best by the truth.

With ``--clicks`` single segments that the vote has wrong are labelled right, one by one, drawn at random: the change of
the mean IoU of the other images by whole segments, mean and worst. Runs are those of `suite.py`, and are not changed;
figures are stored beside them after every draw, and a repeated command continues. The last line is JSON.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression

from segvote.evaluation.segments import CountedTruth, count_image, find_run_truth, measure_ious
from segvote.evaluation.truth import TruthReader, list_truth
from segvote.method.extents import N_EXTENTS, apply_extents
from segvote.method.vote import decide_scores
from segvote.metrics.overlap import IMAGE_THRESHOLD, measure_iou
from segvote.pipeline.corrected_vote import RunVote, vote
from segvote.pipeline.opening import reopen
from segvote.pipeline.vote import BaseVote
from segvote.pipeline.write import WriteTask, draw_task, list_tasks
from segvote.run.run import Run
from segvote.selection import Selection

PURE = 0.85  # share of a segment that must have the label of a click
Row = dict[str, tuple[float, float]]  # learner to CorLoc and mean IoU


@dataclass(frozen=True)
class TaughtSet:
    """A run whose truth is known, and its vote."""

    run: Run
    run_vote: RunVote
    readers: dict[int, TruthReader]
    truths: dict[int, CountedTruth]
    by_segments: bool  # whether whole segments are measured, not drawn masks

    @property
    def base(self) -> BaseVote:
        return self.run_vote.base

    def measure(self, selection: Selection, images: list[int]) -> np.ndarray:
        """(n_images,) IoU of a selection on these images."""
        if self.by_segments:
            parts = [(self.truths[one], selection.selected[self.run.get_slice(one)]) for one in images]
            return measure_ious([truth.measure(selected) for truth, selected in parts])
        inputs = self.run_vote.inputs
        tasks = list_tasks(inputs.bags, inputs.table.areas, selection, self.run_vote.excluded, inputs.corrections)
        return np.array([self._measure_drawn(tasks[one], one) for one in images])

    def _measure_drawn(self, task: WriteTask, image: int) -> float:
        labels = self.run.read_segments(image)["labels"]
        mask, truth = draw_task(self.run.folder, task, labels, self.run.drawing), self.readers[image]().mask
        assert truth is not None
        return measure_iou(mask, truth)

    @cached_property
    def extents(self) -> np.ndarray:
        """(N_EXTENTS, n_images) IoU of the default at every extent."""
        selection, images = self.base.selection, list(self.truths)
        found = self.base.find_extents(selection)
        levels = [apply_extents(selection, found, level) for level in range(1, N_EXTENTS + 1)]
        return np.array([self.measure(one, images) for one in levels])

    def finish(self, images: np.ndarray) -> np.ndarray:
        """(n_segments,) shares of the segments of these images that are object; NaN elsewhere."""
        finished = np.full(len(self.base.table), np.nan)
        for image in images:
            finished[self.run.get_slice(int(image))] = self.truths[int(image)].fractions
        return finished


def open_set(folder: Path, runs: Path, by_segments: bool, name: str = "") -> TaughtSet:
    """The run of a set, called like it where no other name is given."""
    run = Run(runs / (name or folder.name))
    readers = find_run_truth(run, list_truth(folder / "masks"))[1]
    truths = {image: count_image(run, image, read()) for image, read in readers.items()}
    return TaughtSet(run, vote(reopen(run)), readers, truths, by_segments)


# Learners ------------------------------------------------------------------------------------------------------------


def teach(base: BaseVote, finished: np.ndarray) -> Selection:
    return base.teach(finished).selection


def refit(base: BaseVote, finished: np.ndarray) -> Selection:
    labels = np.where(np.isnan(finished), -1, finished > 0.5).astype(np.int8)
    return base.refit(labels).selection


def classify(base: BaseVote, finished: np.ndarray, make: Callable, is_decided: bool = False) -> Selection:
    """The selection of a classifier of scikit-learn on the labelled segments, weighted by area and purity.

    Its probabilities are cut at one half, or decided as scores of a voter are.
    """
    table, known = base.table, ~np.isnan(finished)
    weights = (table.shares * np.abs(2 * finished - 1))[known] + 1e-9
    labels = finished[known] > 0.5
    if labels.all() or not labels.any():
        return base.selection
    scores = make().fit(table.X[known], labels, sample_weight=weights).predict_proba(table.X)[:, 1] - 0.5
    if is_decided:
        return decide_scores(table, scores, base.params)
    selected = (scores > 0) & table.is_candidate
    thresholds = np.zeros_like(base.selection.thresholds)
    return replace(base.selection, scores=scores, unsmoothed=scores, selected=selected, thresholds=thresholds)


def make_logistic() -> LogisticRegression:
    return LogisticRegression(max_iter=300, class_weight="balanced")


def make_forest() -> RandomForestClassifier:
    return RandomForestClassifier(100, class_weight="balanced", random_state=0)


LEARNERS: dict[str, Callable[[BaseVote, np.ndarray], Selection]] = {
    "default": lambda base, finished: base.selection,
    "taught": teach,
    "refit": refit,
    "logistic": lambda base, finished: classify(base, finished, make_logistic),
    "forest": lambda base, finished: classify(base, finished, make_forest),
    "logistic-decided": lambda base, finished: classify(base, finished, make_logistic, True),
    "forest-decided": lambda base, finished: classify(base, finished, make_forest, True),
}


def measure_draw(one: TaughtSet, n_finished: int, draw: int, known: Row | None = None) -> Row:
    """Every learner on the images that were not drawn; those that are known are not measured again."""
    known = known or {}
    images = np.array(list(one.truths))
    drawn = np.random.default_rng([draw, n_finished]).choice(images, n_finished, replace=False)
    left = ~np.isin(images, drawn)
    finished, others = one.finish(drawn), images[left].tolist()
    missing = {name: learn for name, learn in LEARNERS.items() if name not in known}
    found = {name: one.measure(learn(one.base, finished), others) for name, learn in missing.items()}
    if "extent" not in known:
        found["extent"] = max(one.extents[:, left], key=np.mean)
    return known | {name: (float((ious > IMAGE_THRESHOLD).mean()), float(ious.mean())) for name, ious in found.items()}


# Clicks --------------------------------------------------------------------------------------------------------------


def measure_clicks(one: TaughtSet, n_clicks: int) -> dict[str, float]:
    """Change of the mean IoU of the other images by single correct clicks on segments that are wrong."""
    table, selected = one.base.table, one.base.selection.selected
    shares = one.finish(np.array(list(one.truths)))
    wrong = np.flatnonzero((shares >= PURE) & ~selected | (shares <= 1 - PURE) & selected)
    rng, changes = np.random.default_rng(0), []
    for segment in rng.choice(wrong, min(n_clicks, len(wrong)), replace=False):
        labels = np.full(len(table), -1, dtype=np.int8)
        labels[segment] = shares[segment] > 0.5
        others = [image for image in one.truths if image != table.images[segment]]
        after = one.base.correct(labels).selection
        before = one.measure(one.base.selection, others).mean()
        changes.append(float(one.measure(after, others).mean() - before))
    return {"mean": float(np.mean(changes)), "worst": float(np.min(changes)), "n": len(changes)}


# Tables --------------------------------------------------------------------------------------------------------------


def measure_set(folder: Path, given: argparse.Namespace) -> dict[str, Row]:
    """Rows by ``k-draw``, stored after each."""
    kept = given.runs / f"{folder.name}-teach-{'segments' if given.segments else 'drawn'}.json"
    rows: dict[str, Row] = json.loads(kept.read_text()) if kept.is_file() else {}
    wanted = [(int(k), draw) for draw in range(given.draws) for k in given.finished.split(",")]
    missing = [(k, draw) for k, draw in wanted if not rows.get(f"{k}-{draw}", {}).keys() >= {*LEARNERS, "extent"}]
    one = open_set(folder, given.runs, given.segments) if missing else None
    for k, draw in missing:
        assert one is not None
        rows[f"{k}-{draw}"] = measure_draw(one, k, draw, rows.get(f"{k}-{draw}"))
        kept.write_text(json.dumps(rows))
    return {f"{k}-{draw}": rows[f"{k}-{draw}"] for k, draw in wanted}


def average(rows: dict[str, Row], n_finished: str) -> Row:
    """Means over the draws of k images."""
    several = [row for name, row in rows.items() if name.split("-")[0] == n_finished]
    means = {learner: np.mean([row[learner] for row in several], axis=0).round(4) for learner in several[0]}
    return {learner: (float(corloc), float(iou)) for learner, (corloc, iou) in means.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sets", nargs="+", type=Path, metavar="SET", help="folders with masks/")
    parser.add_argument("--runs", type=Path, default=Path("build/suite"), help="where their runs lie, by name")
    parser.add_argument("--finished", default="1,2,3,5", help="numbers of finished images, joined by commas")
    parser.add_argument("--draws", type=int, default=3)
    parser.add_argument("--segments", action="store_true", help="measure whole segments, not drawn masks")
    parser.add_argument("--clicks", type=int, default=0, help="measure this many single clicks instead")
    given = parser.parse_args()
    figures: dict[str, dict] = {}
    for folder in given.sets:
        if given.clicks:
            found = figures[folder.name] = measure_clicks(open_set(folder, given.runs, True), given.clicks)
            print(f"{folder.name:16} mean {found['mean']:+.4f}, worst {found['worst']:+.4f}", flush=True)
            continue
        rows = measure_set(folder, given)
        figures[folder.name] = {k: average(rows, k) for k in given.finished.split(",")}
        for k, row in figures[folder.name].items():
            cells = "  ".join(f"{learner} {corloc:.2f} {iou:.3f}" for learner, (corloc, iou) in row.items())
            print(f"{folder.name:16} k = {k}  {cells}", flush=True)
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
