"""Review: how long from a click to new scores, and what fifty clicks are worth.

Two questions. (1) At 20,000 segments: the median time of a correction, written to the disk, voted on and packed for the
page, as a share of the first vote. (2) A simulated person with photographs and their truth: mean IoU against the
number of clicks (a correction, or an image accepted as it is), for the queue with re-vote, for images in random order,
and for corrections that nobody votes on. The person sees, and judges, the mask as the page draws it. Measured are the
masks as an export would draw them, after 0, 10, 25, 50 and 100 clicks, and the decided segments, after every click. The
truth is used by the person and by the measure, nowhere else. The last line is JSON.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from segvote.io.encodings.rle import encode_rle
from segvote.io.images import resize_image, resize_labels
from segvote.io.masks import read_mask
from segvote.masks.drawing import SuperpixelMap, draw_mask_along
from segvote.method import SegmentAnnotator
from segvote.review.encoding import encode_update, scale_bag
from segvote.review.masks import measure_redrawn
from segvote.review.pictures import list_levels
from segvote.review.ranking import rank_images
from segvote.review.snapshot import (
    Snapshot,
    apply_user,
    apply_votes,
    make_snapshot,
    measure_disagreement,
    note_signs,
)
from segvote.run.correction_log import Action, CorrectionLog
from segvote.run.corrections import fix_segments, replay
from segvote.run.run import Run
from segvote.steps.reopening import reopen, vote
from segvote.steps.superpixels import segment_superpixels
from segvote.types import WITH

DATA = Path(os.environ.get("SEGVOTE_DATA", "../shared/data"))
# A region counts as one a person would click when so much of it is what the click says; and a correction is worth a
# click when it gains so much of the image's IoU.
PURE, WORTH = 0.85, 0.01
OBJECT, BACKGROUND = 255, 0  # of the truth; what lies between is not judged
# After how many clicks masks are drawn and measured.
DRAWN_AT = (0, 10, 25, 50, 100)


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
            voted = _apply(told, annotator, user_labels)
            encode_update(voted, snapshot.version)
            seconds.append(time.perf_counter() - started)
            snapshot = voted
        log.close()
    median = float(np.median(seconds))
    return {"n_segments": len(X), "first_vote_s": first, "click_s": median, "share": median / first}


def _apply(snapshot: Snapshot, annotator: SegmentAnnotator, user_labels: np.ndarray | None) -> Snapshot:
    """The snapshot after the method was told the user labels."""
    result = annotator.correct(user_labels)
    votes = (result.scores, result.selected, result.thresholds, annotator.graph_, result.uncertainty)
    return apply_votes(snapshot, *votes)


class Person:
    """Knows the truth of a run's images and corrects the worst region of the image shown."""

    def __init__(self, run: Run, masks: Path) -> None:
        self.run, self.levels = run, []
        self.truths: dict[int, np.ndarray] = {}
        n_segments = int(run.offsets[-1])
        self.object, self.background = np.zeros(n_segments), np.zeros(n_segments)
        for index, record in enumerate(run.bags):
            segments = run.read_segments(index)
            self.levels.append(list_levels(segments["parents"], segments["altitudes"]))
            if record.bag_label == WITH:
                self._measure(index, segments["labels"], masks / f"{record.stem.split('/', 1)[1]}.png")

    def _measure(self, index: int, labels: np.ndarray, path: Path) -> None:
        truth = resize_labels(read_mask(path), labels.shape)  # type: ignore[arg-type]
        self.truths[index] = truth
        n = int(labels.max()) + 1
        for values, code in ((self.object, OBJECT), (self.background, BACKGROUND)):
            values[self.run.get_slice(index)] = np.bincount(labels.ravel(), truth.ravel() == code, minlength=n)

    def measure_iou(self, snapshot: Snapshot) -> float:
        """Mean over the *with* images, of the decided segments."""
        inside = snapshot.sum_per_bag(np.where(snapshot.decisions, self.object, 0))
        outside = snapshot.sum_per_bag(np.where(snapshot.decisions, self.background, 0))
        truth = snapshot.sum_per_bag(self.object)
        return float((inside / np.maximum(truth + outside, 1))[snapshot.positive].mean())

    def find_worst(self, bag: int, mask: np.ndarray) -> tuple[np.ndarray, int] | None:
        """Segments and value of the correction that gains most on the mask shown; None where it is good as it is."""
        best, found = WORTH, None
        for regions in self.levels[bag]:
            for value in (1, 0):
                gain = self._measure_gain(bag, mask, regions, value)
                if gain.max() > best:
                    best, found = float(gain.max()), (np.flatnonzero(regions == np.argmax(gain)), value)
        return found

    def _measure_gain(self, bag: int, mask: np.ndarray, regions: np.ndarray, value: int) -> np.ndarray:
        """(n_regions,) IoU that calling each region object (1) or background (0) gains; 0 where it is not pure."""
        truth, pixels = self.truths[bag], regions[self.run.read_segments(bag)["labels"]]
        sign, turned = (1, ~mask) if value else (-1, mask)
        there, not_there = truth == OBJECT, truth == BACKGROUND
        inside, either = (there & mask).sum(), (there | (not_there & mask)).sum()
        more_inside = sign * _count(pixels, there & turned)
        more_either = sign * _count(pixels, not_there & turned)
        gain = (inside + more_inside) / np.maximum(either + more_either, 1) - inside / max(either, 1)
        share = _count(pixels, there) / np.maximum(_count(pixels, there | not_there), 1)
        return np.where((share if value else 1 - share) >= PURE, gain, 0)


def _count(pixels: np.ndarray, marked: np.ndarray) -> np.ndarray:
    """(n_regions,) how many pixels of each region are marked."""
    return np.bincount(pixels.ravel(), marked.ravel())


class Draughtsman:
    """Draws masks as the page shows and an export writes them, and measures them; nothing is drawn twice."""

    def __init__(self, person: Person) -> None:
        self.person, self.run = person, person.run
        self._known: dict[tuple[int, bytes], float] = {}
        self._cuts: dict[int, SuperpixelMap] = {}

    def measure_iou(self, snapshot: Snapshot) -> float:
        """Mean over the *with* images."""
        return float(np.mean([self._measure(int(bag), snapshot) for bag in np.flatnonzero(snapshot.positive)]))

    def _measure(self, bag: int, snapshot: Snapshot) -> float:
        part = snapshot.get_slice(bag)
        drawn_from = (snapshot.decisions[part], snapshot.user_labels[part], scale_bag(snapshot, bag).astype(np.float32))
        key = (bag, b"".join(one.tobytes() for one in drawn_from))
        if key not in self._known:
            mask, truth = self.draw(bag, snapshot), self.person.truths[bag]
            there = truth == OBJECT
            either = there | (mask & (truth == BACKGROUND))
            self._known[key] = float((mask & there).sum() / max(either.sum(), 1))
        return self._known[key]

    def draw(self, bag: int, snapshot: Snapshot) -> np.ndarray:
        """(h, w) bool at working size."""
        labels, part = self.run.read_segments(bag)["labels"], snapshot.get_slice(bag)
        if bag not in self._cuts:
            working = resize_image(self.run.read_image(bag), max(labels.shape))
            self._cuts[bag] = segment_superpixels(working, labels, self.run.settings.n_superpixels)
        heat = scale_bag(snapshot, bag).astype(np.float32)
        decided = (snapshot.decisions[part], snapshot.user_labels[part])
        return draw_mask_along(self._cuts[bag], labels, heat, *decided, labels.shape)  # type: ignore[arg-type]


@dataclass(frozen=True)
class Curve:
    """Mean IoU of the segments after 0, 1, … clicks; of the drawn masks at `DRAWN_AT`; images accepted as they were."""

    segments: np.ndarray
    drawn: np.ndarray
    n_accepted: int


class Simulation:
    """One finished run and the person in front of it.

    Parameters
    ----------
    run, masks
        The run and the folder of its truth.
    n_clicks
        How many clicks the person has.
    """

    def __init__(self, run: Run, masks: Path, n_clicks: int) -> None:
        self.run, self.n_clicks = run, n_clicks
        self.voted = vote(reopen(run))
        self.person = Person(run, masks)
        self.draughtsman = Draughtsman(self.person)
        self.first = self._open()

    def _open(self) -> Snapshot:
        """What the page shows at first."""
        table, result = self.voted.opened.table, self.voted.annotator.correct(None)
        shown = make_snapshot(
            table.offsets,
            table.areas,
            table.positive,
            result.scores,
            result.selected,
            result.thresholds,
            uncertainty=result.uncertainty,
        )
        graph, signs = self.voted.annotator.graph_, {"redrawn": measure_redrawn(self.run, shown)}
        if graph is not None:
            signs["disagreement"] = measure_disagreement(shown, graph)
        return note_signs(shown, **signs)

    def spend(self, in_queue: bool, votes: bool, seed: int = 0) -> Curve:
        """Spend the clicks one way."""
        rng, shown, n_accepted = np.random.default_rng(seed), self.first, 0
        segments, drawn = [self.person.measure_iou(shown)], [self.draughtsman.measure_iou(shown)]
        while len(segments) <= self.n_clicks:
            waiting = np.flatnonzero(shown.positive & ~shown.accepted)
            if len(waiting) == 0:
                break
            bag = int(waiting[np.argmax(rank_images(shown)[waiting])] if in_queue else rng.choice(waiting))
            worst = self.person.find_worst(bag, self.draughtsman.draw(bag, shown))
            shown = self._accept(shown, bag) if worst is None else self._correct(shown, bag, *worst, votes)
            n_accepted += worst is None
            segments.append(self.person.measure_iou(shown))
            if len(segments) - 1 in DRAWN_AT:
                drawn.append(self.draughtsman.measure_iou(shown))
        return Curve(np.array(segments), np.array(drawn), n_accepted)

    def _accept(self, shown: Snapshot, bag: int) -> Snapshot:
        accepted = shown.accepted.copy()
        accepted[bag] = True
        return apply_user(shown, replace(shown.user, accepted=accepted))

    def _correct(self, shown: Snapshot, bag: int, segments: np.ndarray, value: int, votes: bool) -> Snapshot:
        fixed = shown.user_labels.copy()
        fixed[shown.get_slice(bag).start + segments] = value
        said = apply_user(shown, replace(shown.user, user_labels=fixed))
        if not votes:
            return said
        return _apply(said, self.voted.untaught.teach(fixed), fixed)


def run_person(folder: Path, masks: Path, n_clicks: int, n_seeds: int) -> dict[str, list[Curve]]:
    """Curves of the ways to spend clicks on one finished run, one for every seed where the order is random."""
    simulation = Simulation(Run(folder), masks, n_clicks)
    curves: dict[str, list[Curve]] = {}
    for votes in (True, False):
        for in_queue in (True, False):
            name = f"{'queue' if in_queue else 'random order'}, {'re-vote' if votes else 'no re-vote'}"
            seeds = range(1 if in_queue else n_seeds)
            curves[name] = [simulation.spend(in_queue, votes, seed) for seed in seeds]
            for curve in curves[name]:
                gain = f"{curve.segments[0]:.4f} -> {curve.segments[-1]:.4f}, drawn {np.round(curve.drawn, 4)}"
                print(f"  {name}: {gain} ({curve.n_accepted} accepted)", flush=True)
    return curves


def summarise(curves: list[Curve]) -> dict[str, dict[str, float]]:
    """Mean, lowest and highest over the seeds after some clicks, of segments and of drawn masks."""
    segments = np.array([curve.segments for curve in curves])
    drawn = np.array([curve.drawn for curve in curves])
    at = [clicks for clicks in (0, 10, 20, 30, 40, 50) if clicks < segments.shape[1]]
    return {
        "segments": {str(clicks): round(float(segments[:, clicks].mean()), 4) for clicks in at},
        "last_drawn": {"low": round(float(drawn[:, -1].min()), 4), "high": round(float(drawn[:, -1].max()), 4)},
        "drawn": {
            str(clicks): round(float(value), 4) for clicks, value in zip(DRAWN_AT, drawn.mean(axis=0), strict=False)
        },
    }


def draw_curves(curves: dict[str, list[Curve]], path: Path) -> None:
    """The curves as a figure; a band from the lowest to the highest of the random orders."""
    import matplotlib

    matplotlib.use("Agg")
    matplotlib.rcParams["svg.hashsalt"] = "segvote"
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(7, 4.2))
    for (name, group), colour in zip(curves.items(), ("#2b3bb3", "#2b3bb3", "#c2410c", "#c2410c"), strict=True):
        values = np.array([curve.drawn for curve in group])
        at = DRAWN_AT[: values.shape[1]]
        style = "o--" if "random" in name else "o-"
        axes.plot(at, values.mean(axis=0), style, color=colour, label=name, linewidth=1.8, markersize=4)
        if len(group) > 1:
            axes.fill_between(at, values.min(axis=0), values.max(axis=0), color=colour, alpha=0.1, linewidth=0)
    axes.set_xlabel("clicks: a correction, or an image accepted as it is")
    axes.set_ylabel("mean IoU of the masks")
    axes.grid(alpha=0.25)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False)
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer segments, no simulated person")
    parser.add_argument("--set", default="street-cars", help="which folder of photographs and truth")
    parser.add_argument("--run", type=Path, help="finished run on that set; default: annotate now")
    parser.add_argument("--clicks", type=int, default=50)
    parser.add_argument("--seeds", type=int, default=5, help="of the random orders")
    parser.add_argument("--plot", type=Path, help="where to draw the curves")
    arguments = parser.parse_args()
    figures: dict[str, Any] = dict(time_clicks(20 if arguments.quick else 100, 200, 15 if arguments.quick else 31))
    print(f"first vote {figures['first_vote_s']:.2f} s, click to scores {1000 * figures['click_s']:.0f} ms")
    photographs = DATA / arguments.set
    if not arguments.quick and photographs.is_dir():
        with tempfile.TemporaryDirectory() as folder:
            if arguments.run is None:
                from segvote.steps.annotate import annotate

                arguments.run = annotate(photographs / "with", photographs / "without", folder).folder.path
            curves = run_person(arguments.run, photographs / "masks", arguments.clicks, arguments.seeds)
        if arguments.plot:
            draw_curves(curves, arguments.plot)
        figures["mean_iou"] = {name: summarise(group) for name, group in curves.items()}
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
