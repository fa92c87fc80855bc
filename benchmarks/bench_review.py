"""Simulated corrections: CorLoc and mean IoU of the drawn masks after 0, 1, 5, 10, 25, 50 and 100 actions.

    python benchmarks/bench_review.py SET [SET ...] [--runs build/suite] [--ways segments-vote,pixels-vote] [--choose]

A simulated person takes the next image of the queue, sees its mask as the page draws it, and corrects the worst error,
or accepts the image when no correction gains a hundredth of its IoU; both are actions. A way to correct is a tool and
its consequence:

segments  the region, of the five sizes that the page offers, that gains most is clicked;
images    the mask of the whole image is drawn, and the image accepted: it is finished, and teaches the others; the
          first one is the image that the page asks for, where it asks;
pixels    a lasso is drawn around the error, a connected region, whose lasso gains most: straight lines within `HAND`
          pixels of its outline, without holes;
model     the middle of the largest error is clicked with the model tool, at that of part, object and whole, whose
          outlines the person sees, which gains most; where none gains, the next largest error. Needs the package
          segvote-mobile-sam; embeddings are stored in the run;
both      the lasso of ``pixels`` or the click of ``model``, whichever gains more;
vote      the correction takes part in the vote, as on the page: it is propagated at once, and a vote is held after
          every fifth correction;
alone     no other segment changes.

Runs are those of `suite.py`; use a copy where they must not change. With ``--choose`` the first action is the choice of
an extent for all images. The truth is used by the person and by the measure, nowhere else. The last line is JSON.

    python benchmarks/bench_review.py --log RUN

measures how long a click, an undo and a redo take to be answered in a copy of a run whose log has 10 and 10,000
actions, and prints the ratios.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import shutil
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import cv2
import numpy as np

from segvote.errors import BadInputError
from segvote.io.encodings.polygons import trace_polygons
from segvote.io.encodings.rle import encode_rle
from segvote.io.images import resize_labels
from segvote.io.masks import read_mask
from segvote.method.extents import N_EXTENTS, apply_extents
from segvote.pipeline.corrected_vote import vote
from segvote.pipeline.lessons import find_first
from segvote.pipeline.opening import reopen
from segvote.pipeline.strokes import Canvas
from segvote.review.encoding import rank_images
from segvote.review.engine import Engine
from segvote.review.masks import draw_segments, measure_redrawn
from segvote.review.model_click import ModelClick
from segvote.review.pictures import list_levels
from segvote.review.snapshot import apply_user, apply_votes, make_snapshot, note_redrawn
from segvote.review.strokes import Stroke, draw_stroke
from segvote.run.correction_log import Action, CorrectionLog
from segvote.run.run import Run
from segvote.selection import DEFAULT_EXTENT, Selection
from segvote.types import WITH

# Least share of a region that must have the label of a click, and least gain in IoU of a correction.
PURE, WORTH = 0.85, 0.01
# Pixels of the segmented picture by which a hand may be off, and number of the largest errors of each kind compared.
HAND, N_ERRORS = 2.0, 5
OBJECT, BACKGROUND = 255, 0  # of the truth; other values are not judged
EVERY = 5  # corrections from one vote to the next
WAYS = ("segments-vote", "pixels-vote", "images-vote", "segments-alone", "pixels-alone")
MODEL_WAYS = ("model-vote", "model-alone", "both-vote", "both-alone")
# After how many actions masks are drawn and measured.
DRAWN_AT = (0, 1, 5, 10, 25, 50, 100)
FOUND = 0.5  # IoU from which an image counts for CorLoc


class Person:
    """Knows the truth of a run's images and corrects the worst region of the image shown."""

    def __init__(self, run: Run, masks: Path) -> None:
        self.model = ModelClick(run)
        self.levels: list[np.ndarray] = []
        self.labels: list[np.ndarray] = []
        self.truths: dict[int, np.ndarray] = {}
        for index, record in enumerate(run.bags):
            segments = run.read_segments(index)
            self.labels.append(segments["labels"])
            self.levels.append(list_levels(segments["parents"], segments["altitudes"]))
            if record.bag_label == WITH:
                path = masks / f"{record.stem.split('/', 1)[1]}.png"
                self.truths[index] = resize_labels(read_mask(path), segments["labels"].shape)  # type: ignore[arg-type]

    def measure_iou(self, bag: int, mask: np.ndarray) -> float:
        """IoU of a mask (h, w) bool at working size."""
        there, not_there = self.truths[bag] == OBJECT, self.truths[bag] == BACKGROUND
        return float((mask & there).sum() / max((there | (mask & not_there)).sum(), 1))

    def find_worst(self, bag: int, mask: np.ndarray) -> tuple[np.ndarray, int] | None:
        """Segments and value of the correction that gains most on the mask shown; None where it is good as it is."""
        best, found = WORTH, None
        for regions in self.levels[bag]:
            for value in (1, 0):
                gain = self._measure_gain(bag, mask, regions, value)
                if gain.max() > best:
                    best, found = float(gain.max()), (np.flatnonzero(regions == np.argmax(gain)), value)
        return found

    def lasso_worst(self, bag: int, mask: np.ndarray) -> tuple[np.ndarray, int] | None:
        """Pixels and value of the lasso that gains most on the mask shown; None where it is good as it is."""
        before = self.measure_iou(bag, mask)
        best, found = WORTH, None
        for stroke, value in self._list_lassos(bag, mask):
            pixels = draw_stroke(stroke, mask, value)
            gain = self.measure_iou(bag, np.where(pixels, value == 1, mask)) - before
            if gain > best:
                best, found = gain, (pixels, value)
        return found

    def _list_lassos(self, bag: int, mask: np.ndarray) -> Iterator[tuple[Stroke, int]]:
        """Lassos around the largest errors of each kind, and their values."""
        for error, value in self._list_errors(bag, mask):
            outline = trace_polygons(error)[0][0].astype(np.float32)
            corners = cv2.approxPolyDP(outline, HAND, closed=True)[:, 0]
            if len(corners) >= 3 and cv2.contourArea(corners) > 1:  # else thinner than the hand
                yield Stroke("polygon", corners.astype(np.float64)), value

    def _list_errors(self, bag: int, mask: np.ndarray) -> Iterator[tuple[np.ndarray, int]]:
        """The largest errors of each kind, (h, w) bool, and the values that correct them."""
        there, not_there = self.truths[bag] == OBJECT, self.truths[bag] == BACKGROUND
        for wrong, value in ((there & ~mask, 1), (not_there & mask, 0)):
            _, parts, stats, _ = cv2.connectedComponentsWithStats(wrong.astype(np.uint8), connectivity=4)
            areas = stats[1:, cv2.CC_STAT_AREA]
            for part in np.argsort(-areas, kind="stable")[:N_ERRORS] + 1:
                yield parts == part, value

    def ask_model(self, bag: int, mask: np.ndarray) -> tuple[np.ndarray, int] | None:
        """Pixels and value of a model click in the middle of the largest error that one can correct; None: none."""
        before = self.measure_iou(bag, mask)
        for error, value in sorted(self._list_errors(bag, mask), key=lambda one: -one[0].sum()):
            levels = self._draw_levels(bag, find_middle(error), mask.shape)
            gains = [self.measure_iou(bag, np.where(pixels, value == 1, mask)) - before for pixels in levels]
            if gains and max(gains) > WORTH:
                return levels[int(np.argmax(gains))], value
        return None

    def take_better(self, bag: int, mask: np.ndarray) -> tuple[np.ndarray, int] | None:
        """Pixels and value of the lasso or of the model click, whichever gains more; None: neither."""
        both = (self.lasso_worst(bag, mask), self.ask_model(bag, mask))
        found = [one for one in both if one is not None]
        return max(found, key=lambda one: self.measure_iou(bag, np.where(one[0], one[1] == 1, mask)), default=None)

    def _draw_levels(self, bag: int, place: np.ndarray, size: tuple[int, ...]) -> Sequence[np.ndarray]:
        """Part, object and whole at a place of the working size; none where the model finds nothing."""
        record = self.model.run.bags[bag]
        try:
            return self.model.draw_levels(bag, place * [record.width / size[1], record.height / size[0]], size)
        except BadInputError:
            return []

    def _measure_gain(self, bag: int, mask: np.ndarray, regions: np.ndarray, value: int) -> np.ndarray:
        """(n_regions,) IoU that calling each region object (1) or background (0) gains; 0 where it is not pure."""
        truth, pixels = self.truths[bag], regions[self.labels[bag]]
        sign, turned = (1, ~mask) if value else (-1, mask)
        there, not_there = truth == OBJECT, truth == BACKGROUND
        inside, either = (there & mask).sum(), (there | (not_there & mask)).sum()
        more_inside = sign * _count(pixels, there & turned)
        more_either = sign * _count(pixels, not_there & turned)
        gain = (inside + more_inside) / np.maximum(either + more_either, 1) - inside / max(either, 1)
        share = _count(pixels, there) / np.maximum(_count(pixels, there | not_there), 1)
        return np.where((share if value else 1 - share) >= PURE, gain, 0)


def find_middle(error: np.ndarray) -> np.ndarray:
    """(2,) x and y of the pixel deepest inside an error (h, w) bool."""
    depth = cv2.distanceTransform(np.pad(error, 1).astype(np.uint8), cv2.DIST_L2, 3)[1:-1, 1:-1]
    row, column = np.unravel_index(np.argmax(depth), depth.shape)
    return np.array([column, row]) + 0.5


def _count(pixels: np.ndarray, marked: np.ndarray) -> np.ndarray:
    """(n_regions,) how many pixels of each region are marked."""
    return np.bincount(pixels.ravel(), marked.ravel())


class Review:
    """A run in which nothing was corrected, opened, and the person in front of it."""

    def __init__(self, run: Run, masks: Path, choose: bool = False) -> None:
        self.run, self.person, self.choose = run, Person(run, masks), choose
        opened = reopen(run)
        run_vote = vote(opened)
        self.base, self.asked = run_vote.base, find_first(run_vote)
        table, result = opened.table, self.base.selection
        votes = (result.scores, result.selected, result.thresholds)
        shown = make_snapshot(table.bag_offsets, table.areas, table.bag_labels, *votes, uncertainty=result.uncertainty)
        self.first = apply_votes(note_redrawn(shown, measure_redrawn(run, shown)), *votes, self.base.graph)


class Corrector:
    """The state of a review, corrected in one of `WAYS`."""

    def __init__(self, review: Review, way: str) -> None:
        self.tool, self.consequence = way.split("-", 1)
        self.review, self.person = review, review.person
        self.shown, self.refitted, self.n_corrections = review.first, review.base, 0
        self.level, self.waits = DEFAULT_EXTENT, review.choose
        self.canvases: dict[int, Canvas] = {}
        self.strokes: dict[int, list[Action]] = {}
        self.painted_shares = np.zeros(len(review.first.scores))
        self.finished = np.full(len(review.first.scores), np.nan)

    def measure(self) -> tuple[float, float]:
        bags = [int(bag) for bag in np.flatnonzero(self.shown.positive)]
        ious = np.array([self.person.measure_iou(bag, self.draw(bag)) for bag in bags])
        return float((ious > FOUND).mean()), float(ious.mean())

    def draw(self, bag: int) -> np.ndarray:
        """(h, w) bool at working size, as the page shows it."""
        drawn = draw_segments(self.review.run, self.shown, bag)
        mask = resize_labels(drawn, self.person.labels[bag].shape)
        return self.canvases[bag].override(mask) if bag in self.canvases else mask

    def act(self) -> None:
        """Correct, or accept, the next image of the queue; nothing where all were accepted."""
        if self.waits:
            self.waits, self.level = False, self._choose_level()
            self._show(self.review.base.selection)
            return
        waiting = np.flatnonzero(self.shown.positive & ~self.shown.accepted)
        if len(waiting) == 0:
            return
        bag = int(waiting[np.argmax(rank_images(self.shown)[waiting])])
        if self.tool == "images":
            asked = self.review.asked if np.isnan(self.finished).all() else -1
            self._finish(bag if asked < 0 else asked)
            return
        user_labels = (self._click if self.tool == "segments" else self._paint)(bag, self.draw(bag))
        if user_labels is None:
            accepted = self.shown.accepted.copy()
            accepted[bag] = True
            self.shown = apply_user(self.shown, replace(self.shown.user, accepted=accepted))
        else:
            self._vote(user_labels)

    def _finish(self, bag: int) -> None:
        """Draw the mask of an image as it is, and accept it; the others learn from it."""
        part, labels = self.shown.get_slice(bag), self.person.labels[bag]
        mask = self.person.truths[bag] == OBJECT
        counts = str(encode_rle(mask)["counts"])
        self.canvases[bag] = Canvas(mask.shape, [Action("accept", str(bag), "", 1, *mask.shape, counts)])
        self.finished[part] = self.canvases[bag].measure_object(labels, part.stop - part.start)
        accepted = self.shown.accepted.copy()
        accepted[bag] = True
        self.shown = apply_user(self.shown, replace(self.shown.user, accepted=accepted))
        self.refitted = self.review.base.teach(self.finished)
        self._show(self.refitted.selection)

    def _choose_level(self) -> int:
        """The extent whose masks are best, as a person sees it on the strip of the report."""
        found = []
        for self.level in range(1, N_EXTENTS + 1):
            self._show(self.review.base.selection)
            found.append(self.measure()[1])
        return int(np.argmax(found)) + 1

    def _show(self, selection: Selection) -> None:
        """Show a selection with corrections at the extent that was chosen."""
        result = apply_extents(selection, self.refitted.find_extents(selection), self.level)
        votes = (result.scores, result.selected, result.thresholds, self.review.base.graph, result.uncertainty)
        self.shown = apply_votes(self.shown, *votes)

    def _click(self, bag: int, mask: np.ndarray) -> np.ndarray | None:
        worst = self.person.find_worst(bag, mask)
        if worst is None:
            return None
        user_labels = self.shown.user_labels.copy()
        user_labels[self.shown.get_slice(bag).start + worst[0]] = worst[1]
        return user_labels

    def _paint(self, bag: int, mask: np.ndarray) -> np.ndarray | None:
        person = self.person
        ways = {"pixels": person.lasso_worst, "model": person.ask_model, "both": person.take_better}
        worst = ways[self.tool](bag, mask)
        if worst is None:
            return None
        pixels, value = worst
        strokes = self.strokes.setdefault(bag, [])
        strokes.append(Action("paint", str(bag), "", value, *mask.shape, str(encode_rle(pixels)["counts"])))
        canvas = self.canvases.setdefault(bag, Canvas(mask.shape))  # type: ignore[arg-type]
        canvas.show(strokes)
        part, user_labels = self.shown.get_slice(bag), self.shown.user_labels.copy()
        labels = self.person.labels[bag]
        user_labels[part] = canvas.label_segments(labels, part.stop - part.start)
        self.painted_shares[part] = canvas.measure_painted(labels, part.stop - part.start)
        painted = self.shown.painted.copy()
        painted[bag] += 1  # so that a stroke that labels no segment counts as a correction, too
        self.shown = apply_user(self.shown, replace(self.shown.user, painted=painted))
        return user_labels

    def _vote(self, user_labels: np.ndarray) -> None:
        self.shown = apply_user(self.shown, replace(self.shown.user, user_labels=user_labels))
        self.n_corrections += 1
        if self.consequence == "alone":
            return
        if self.n_corrections % EVERY == 0:
            self.refitted = self.review.base.refit(user_labels)
        self._show(self.review.base.correct(user_labels, self.painted_shares, self.refitted).selection)


SHORT, LONG = 10, 10_000  # actions in a log
N_CLICKS = 40  # of which the median is taken


def fill_log(run: Run, n_actions: int) -> None:
    """Clicks on single segments of all images in turn, in one transaction; each would wait for the disk."""
    rng, actions = np.random.default_rng(0), []
    for number in range(n_actions):
        bag = number % len(run)
        record, labels = run.bags[bag], run.read_segments(bag)["labels"]
        pixels = labels == rng.integers(record.n_segments)
        counts = str(encode_rle(pixels)["counts"])
        actions.append(Action("set", record.digest, record.name, number % 2, *labels.shape, counts))
    with contextlib.closing(CorrectionLog(run.folder.corrections_path)) as log:
        log.append(*actions)


def time_answers(folder: Path, n_actions: int) -> dict[str, float]:
    """Median seconds until an action is saved and shown, by its kind; votes, which follow in threads, are not held."""
    with tempfile.TemporaryDirectory() as scratch:
        run = Run(shutil.copytree(folder, Path(scratch) / "run"))
        run.folder.corrections_path.unlink(missing_ok=True)
        fill_log(run, n_actions)
        engine = Engine(run)
        act, seconds = engine.actions, {"click": [], "undo": [], "redo": []}
        for number in range(N_CLICKS):
            calls = {
                "click": lambda bag=number % len(run): act.set_segments(bag, [0], 1),
                "undo": lambda: act.undo(engine.board.state.last),
                "redo": lambda: act.redo(engine.board.state.last),
            }
            for kind, call in calls.items():
                started = time.perf_counter()
                call()
                seconds[kind].append(time.perf_counter() - started)
        engine.log.close()
        return {kind: float(np.median(several)) for kind, several in seconds.items()}


def compare_logs(folder: Path) -> None:
    """Print the time of each kind of action with a short and a long log, and their ratio."""
    short, long = (time_answers(folder, n_actions) for n_actions in (SHORT, LONG))
    for kind in short:
        print(f"{kind:6} {1000 * short[kind]:7.2f} ms after {SHORT} actions, {1000 * long[kind]:7.2f} ms after {LONG}")
    print(json.dumps({kind: round(long[kind] / short[kind], 2) for kind in short}))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sets", nargs="*", type=Path, metavar="SET", help="folders with masks/")
    parser.add_argument("--runs", type=Path, default=Path("build/suite"), help="where their runs lie, by name")
    parser.add_argument(
        "--ways", default=",".join(WAYS), help=f"ways to correct, joined by commas; also {', '.join(MODEL_WAYS)}"
    )
    parser.add_argument("--actions", type=int, default=DRAWN_AT[-1])
    parser.add_argument("--choose", action="store_true", help="the first action chooses an extent")
    parser.add_argument("--log", type=Path, metavar="RUN", help="time actions in a copy of this run, by length of log")
    given = parser.parse_args()
    if given.log:
        compare_logs(given.log)
        return
    if not given.sets:
        parser.error("expected sets with masks/, or --log RUN; got neither")
    figures: dict[str, dict[str, list[tuple[int, float, float]]]] = {}
    for folder in given.sets:
        review = Review(Run(given.runs / folder.name), folder / "masks", given.choose)
        print(f"{folder.name}, confidence {review.base.confidence.level}", flush=True)
        for way in given.ways.split(","):
            rows = figures.setdefault(folder.name, {})[way] = []
            corrector = Corrector(review, way)
            for n_spent in range(given.actions + 1):
                if n_spent in DRAWN_AT:
                    corloc, iou = corrector.measure()
                    rows.append((n_spent, round(corloc, 4), round(iou, 4)))
                    print(f"  {way:18} {n_spent:4} actions: CorLoc {corloc:.3f}, mIoU {iou:.3f}", flush=True)
                corrector.act()
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
