"""Review: how long from a click to new scores, and what fifty clicks are worth.

Two questions. (1) At 20,000 segments: the median time of a correction, written to the disk, voted on and packed for the
page, as a share of the first vote. (2) A simulated person with street photographs and their truth: mean IoU against the
number of clicks (a correction, or an image accepted as it is), for the queue with re-vote, for images in random order,
and for corrections that nobody votes on. The last line is JSON.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from segvote.io.corrections import Action, CorrectionLog
from segvote.io.images import resize_labels
from segvote.io.masks import read_mask
from segvote.io.rle import encode_rle
from segvote.pipeline.corrections import fix_segments, replay
from segvote.pipeline.reopening import reopen
from segvote.pipeline.run import Run
from segvote.pipeline.voting_step import Table, decide_bags, fit_voter
from segvote.refine import prefer_inside
from segvote.review.encoding import encode_update
from segvote.review.pictures import list_levels
from segvote.review.ranking import rank_images
from segvote.review.state import Snapshot, disagree, hear, make_snapshot, say
from segvote.types import WITH
from segvote.voting import VOTERS
from segvote.voting.ekde import EKDE

DATA = Path(os.environ.get("SEGVOTE_DATA", "../shared/data"))
# A region counts as one a person would click when so much of it is what the click says; and a correction is worth a
# click when it mends so much of the thing's area.
PURE, WORTH = 0.85, 0.03


def make_table(n_bags: int, n_per_bag: int, n_dims: int, seed: int = 0) -> Table:
    """Random segments with a planted cluster, as `gather_table` would give them."""
    rng = np.random.default_rng(seed)
    n_segments = n_bags * n_per_bag
    X = rng.normal(size=(n_segments, n_dims)).astype(np.float32)
    tags = np.arange(n_bags) < n_bags // 2
    bags = np.repeat(np.arange(n_bags), n_per_bag)
    thing = tags[bags] & (np.arange(n_segments) % n_per_bag < n_per_bag // 10)
    X[thing] += rng.normal(size=n_dims).astype(np.float32) * 2
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    side = np.arange(n_per_bag)
    edges = np.column_stack([side[:-1], side[1:]]).astype(np.int32)
    offsets = np.arange(n_bags + 1) * n_per_bag
    border = np.tile(side % 7 == 0, n_bags).astype(np.float32)
    no_scale: Any = None  # nobody asks on what scale X is
    return Table(X, bags, offsets, tags, np.full(n_segments, 600), border, [edges] * n_bags, no_scale)


def time_clicks(n_bags: int, n_per_bag: int, n_clicks: int) -> dict[str, float]:
    """Median seconds from click to packed scores, beside the seconds of the first vote."""
    from segvote.pipeline.settings import Settings

    settings, table = Settings(), make_table(n_bags, n_per_bag, 472)
    survival = prefer_inside(table.border, settings.border_survival)
    started = time.perf_counter()
    voter = EKDE().fit(table.X, table.tags[table.bags], bags=table.bags, survival=survival)
    verdict = decide_bags(table, voter, settings)
    first = time.perf_counter() - started
    labels = np.repeat(np.arange(n_per_bag), 600).reshape(-1, 300)
    snapshot = make_snapshot(
        table.offsets, table.areas, table.tags, verdict.scores, verdict.decisions, verdict.thresholds
    )
    rng, seconds = np.random.default_rng(1), []
    with tempfile.TemporaryDirectory() as folder:
        log = CorrectionLog(Path(folder) / "review.sqlite")
        for _ in range(n_clicks):
            bag, segment = int(rng.integers(n_bags)), int(rng.integers(n_per_bag))
            started = time.perf_counter()
            counts = str(encode_rle(labels == segment)["counts"])
            log.append(Action("set", str(bag), "", int(rng.integers(2)), *labels.shape, counts))
            corrections = replay(log.read())
            fixed = np.full(len(table.X), -1, dtype=np.int8)
            for image, strokes in corrections.strokes.items():
                fixed[int(image) * n_per_bag : (int(image) + 1) * n_per_bag] = fix_segments(strokes, labels)
            said = say(snapshot, corrections.last, fixed, snapshot.tags, snapshot.moved, snapshot.looked)
            verdict = decide_bags(table, voter.revote(fixed), settings, fixed)
            heard = hear(said, verdict.scores, verdict.decisions, verdict.thresholds, snapshot.decisions)
            encode_update(heard, snapshot.version)
            seconds.append(time.perf_counter() - started)
            snapshot = heard
        log.close()
    median = float(np.median(seconds))
    return {"n_segments": len(table.X), "first_vote_s": first, "click_s": median, "share": median / first}


class Person:
    """Knows the truth of a run's images and corrects the worst region of the image shown."""

    def __init__(self, run: Run, masks: Path) -> None:
        self.run, self.levels = run, []
        n_segments = int(run.offsets[-1])
        self.object, self.background = np.zeros(n_segments), np.zeros(n_segments)
        for index, record in enumerate(run.bags):
            segments = run.read_segments(index)
            self.levels.append(list_levels(segments["parents"], segments["altitudes"]))
            if record.tag == WITH:
                self._measure(index, segments["labels"], masks / f"{record.stem.split('/', 1)[1]}.png")

    def _measure(self, index: int, labels: np.ndarray, path: Path) -> None:
        truth = resize_labels(read_mask(path), labels.shape).ravel()  # type: ignore[arg-type]
        n = int(labels.max()) + 1
        for values, code in ((self.object, 255), (self.background, 0)):
            values[self.run.get_slice(index)] = np.bincount(labels.ravel(), truth == code, minlength=n)

    def measure_iou(self, snapshot: Snapshot) -> float:
        """Mean over the *with* images."""
        inside = snapshot.sum_per_bag(np.where(snapshot.decisions, self.object, 0))
        outside = snapshot.sum_per_bag(np.where(snapshot.decisions, self.background, 0))
        truth = snapshot.sum_per_bag(self.object)
        return float((inside / np.maximum(truth + outside, 1))[snapshot.tags].mean())

    def find_worst(self, bag: int, snapshot: Snapshot) -> tuple[np.ndarray, int] | None:
        """Segments and value of the best single correction, or None where the image is good as it is."""
        part = self.run.get_slice(bag)
        selected, there, not_there = snapshot.decisions[part], self.object[part], self.background[part]
        best, found = WORTH * float(there.sum()), None
        for regions in self.levels[bag]:
            pure = np.bincount(regions, there) / np.maximum(np.bincount(regions, there + not_there), 1)
            for value, share in ((1, pure), (0, 1 - pure)):
                sign = 1 if value else -1
                gain = np.bincount(regions, np.where(selected != bool(value), sign * (there - not_there), 0))
                gain[share < PURE] = 0
                if gain.max() > best:
                    best, found = float(gain.max()), (np.flatnonzero(regions == np.argmax(gain)), value)
        return found


def simulate(
    person: Person,
    table: Table,
    voter: EKDE,
    rival: np.ndarray,
    n_clicks: int,
    in_queue: bool,
    votes: bool,
    seed: int = 0,
) -> tuple[list[float], int]:
    """Mean IoU after 0 .. n_clicks clicks, and how many of them accepted an image as it is."""
    settings, rng = person.run.settings, np.random.default_rng(seed)
    fixed = np.full(len(table.X), -1, dtype=np.int8)
    verdict = decide_bags(table, voter.revote(fixed), settings)
    shown = make_snapshot(table.offsets, table.areas, table.tags, verdict.scores, verdict.decisions, verdict.thresholds)
    shown = disagree(shown, rival)
    curve, n_accepted = [person.measure_iou(shown)], 0
    looked = shown.looked.copy()
    while len(curve) <= n_clicks and not looked[shown.tags].all():
        waiting = np.flatnonzero(shown.tags & ~looked)
        bag = int(waiting[np.argmax(rank_images(shown)[waiting])] if in_queue else rng.choice(waiting))
        worst = person.find_worst(bag, shown)
        if worst is None:
            looked[bag] = True
            n_accepted += 1
            shown = say(shown, 0, fixed.copy(), shown.tags, shown.moved, looked.copy())
            curve.append(curve[-1])
            continue
        fixed[person.run.get_slice(bag).start + worst[0]] = worst[1]
        said = say(shown, 0, fixed.copy(), shown.tags, shown.moved, looked.copy())
        if votes:
            verdict = decide_bags(table, voter.revote(fixed), settings, fixed)
            said = hear(said, verdict.scores, verdict.decisions, verdict.thresholds, shown.decisions)
        shown = said
        curve.append(person.measure_iou(shown))
    return curve, n_accepted


def run_person(folder: Path, masks: Path, n_clicks: int, n_seeds: int) -> dict[str, list[float]]:
    """Curves of the ways to spend clicks on one finished run."""
    run = Run(folder)
    opened = reopen(run)
    table = opened.table
    voter = fit_voter(table, run.settings)
    rival = VOTERS["cam"]().fit(table.X, table.tags[table.bags], bags=table.bags)
    other = decide_bags(table, rival, run.settings).decisions
    person = Person(run, masks)

    def curve(in_queue: bool, votes: bool, seed: int = 0) -> list[float]:
        values, n_accepted = simulate(person, table, voter, other, n_clicks, in_queue, votes, seed)
        gain = f"{values[0]:.4f} -> {values[-1]:.4f}"
        print(f"  queue {in_queue!s:5} vote {votes!s:5} seed {seed}: {gain} ({n_accepted} accepted)", flush=True)
        return values

    def mean(make: Callable[[int], list[float]]) -> list[float]:
        return np.mean([make(seed) for seed in range(n_seeds)], axis=0).tolist()

    return {
        "queue, re-vote": curve(True, True),
        "random order, re-vote": mean(lambda seed: curve(False, True, seed)),
        "queue, no re-vote": curve(True, False),
        "random order, no re-vote": mean(lambda seed: curve(False, False, seed)),
    }


def draw_curves(curves: dict[str, list[float]], path: Path) -> None:
    """The curves as a figure."""
    import matplotlib

    matplotlib.use("Agg")
    matplotlib.rcParams["svg.hashsalt"] = "segvote"
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(7, 4.2))
    for (name, curve), colour in zip(curves.items(), ("#2b3bb3", "#2b3bb3", "#c2410c", "#c2410c"), strict=True):
        axes.plot(curve, "--" if "random" in name else "-", color=colour, label=name, linewidth=1.8)
    axes.set_xlabel("clicks: a correction, or an image accepted as it is")
    axes.set_ylabel("mean IoU")
    axes.grid(alpha=0.25)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False)
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer segments, no simulated person")
    parser.add_argument("--run", type=Path, help="finished run on street-cars; default: annotate now")
    parser.add_argument("--clicks", type=int, default=50)
    parser.add_argument("--seeds", type=int, default=3, help="of the random orders")
    parser.add_argument("--plot", type=Path, help="where to draw the curves")
    arguments = parser.parse_args()
    figures: dict[str, Any] = dict(time_clicks(20 if arguments.quick else 100, 200, 15 if arguments.quick else 31))
    print(f"first vote {figures['first_vote_s']:.2f} s, click to scores {1000 * figures['click_s']:.0f} ms")
    cars = DATA / "street-cars"
    if not arguments.quick and cars.is_dir():
        with tempfile.TemporaryDirectory() as folder:
            if arguments.run is None:
                from segvote.pipeline.annotate import annotate

                arguments.run = annotate(cars / "with", cars / "without", folder).folder.path
            curves = run_person(arguments.run, cars / "masks", arguments.clicks, arguments.seeds)
        if arguments.plot:
            draw_curves(curves, arguments.plot)
        figures["mean_iou"] = {
            name: {str(at): round(curve[at], 4) for at in (0, 10, 20, 30, 50) if at < len(curve)}
            for name, curve in curves.items()
        }
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
