"""Pieces and objects of the masks of every set below a folder: as drawn, and without specks, split where they touch.

    python benchmarks/bench_pieces.py [DATA] [--sets cows,potholes]

The runs are those of `benchmarks/suite.py`, which has to be run first. *Before* are the masks as drawn with their
connected pieces as objects; *one box* is a single box around all of them. *After* is what a run writes. The second
table chooses the share of specks with each set left out in turn.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from segvote.evaluation.segments import find_run_truth
from segvote.evaluation.truth import list_truth
from segvote.io.images import resize_labels
from segvote.masks import Drawing
from segvote.masks.objects import label_objects
from segvote.masks.pieces import SPECK_SHARE, measure_pieces, remove_specks
from segvote.metrics import Detections, match_detections, measure_count_error, measure_instance_ap, measure_iou
from segvote.metrics.detection import measure_mean_ap
from segvote.pipeline.drawing.choosing import add_objects
from segvote.pipeline.extent import read_selection
from segvote.pipeline.objects import score_objects
from segvote.pipeline.opening import list_run_bags
from segvote.pipeline.workers import Resources
from segvote.pipeline.write import WriteTask, draw_task, list_tasks
from segvote.report.tables import format_text
from segvote.run.corrections import Corrections
from segvote.run.run import Run
from suite import list_sets, make_parser

SHARES = (0.003, 0.005, 0.01, 0.015, 0.02, 0.025, 0.03, 0.04, 0.05, 0.1)


@dataclass(frozen=True)
class Figures:
    """Figures of one set, means over its images."""

    n_pieces: float
    miou: float
    ap50: float
    ap: float
    box_iou: float
    count_error: float


@dataclass(frozen=True)
class SetResult:
    """One set: figures before and after, and mean IoU by share of specks."""

    name: str
    drawing: Drawing
    n_true: float
    before: Figures
    after: Figures
    one_box: float
    by_share: list[float]  # of `SHARES`


def list_run_tasks(run: Run) -> list[WriteTask]:
    """The tasks by which the masks of a run without corrections are drawn."""
    areas = np.concatenate([run.read_segments(index)["areas"] for index in range(len(run))])
    selection = read_selection(run, np.full(len(run), run.extent), None)
    bags = list_run_bags(run, Corrections())
    return list_tasks(bags, areas, selection, np.array([bag.excluded for bag in run.bags]), Corrections())


def draw_plain(run: Run, drawing: Drawing, folder: Path) -> Iterator[tuple[int, np.ndarray, np.ndarray]]:
    """Number, mask with its specks, and truth of each image."""
    tasks, plain = list_run_tasks(run), replace(drawing, typical_piece=0.0)
    for index, read in find_run_truth(run, list_truth(folder / "masks"))[1].items():
        truth = read().mask
        assert truth is not None
        mask = draw_task(run.folder, tasks[index], run.read_segments(index)["labels"], plain)
        yield index, resize_labels(mask, truth.shape), truth  # type: ignore[arg-type]


def measure_set(folder: Path, out: Path) -> SetResult:
    """Draw one set and measure it."""
    run = Run(out / folder.name)
    drawing = add_objects(run.folder, list_run_tasks(run), run.drawing, run.settings.objects, Resources(n_jobs=1))
    drawn = list(draw_plain(run, drawing, folder))
    is_drawn = drawing.way == "regions"
    clean = [remove_specks(mask, drawing.typical_piece) if is_drawn else mask for _, mask, _ in drawn]
    by_share = [
        [measure_iou(remove_specks(mask, drawing.typical_piece * is_drawn, share), truth) for _, mask, truth in drawn]
        for share in SHARES
    ]
    truths, masks = [truth for _, _, truth in drawn], [mask for _, mask, _ in drawn]
    numbers = [index for index, _, _ in drawn]
    before, one = _judge(run, numbers, masks, truths, "pieces"), _judge(run, numbers, masks, truths, "one")
    after = _judge(run, numbers, clean, truths, drawing.objects)
    return SetResult(
        folder.name,
        drawing,
        float(np.mean([one.n_true for one in before])),
        _summarise(masks, truths, before),
        _summarise(clean, truths, after),
        _average_boxes(one),
        np.mean(by_share, axis=1).tolist(),
    )


def _judge(
    run: Run, numbers: list[int], masks: list[np.ndarray], truths: list[np.ndarray], objects: str
) -> list[Detections]:
    found = []
    for index, mask, truth in zip(numbers, masks, truths, strict=True):
        instances = label_objects(mask, objects)
        scores = score_objects(run, index, instances) - run.bags[index].threshold
        found.append(match_detections(mask, truth, instances, scores))
    return found


def _summarise(masks: list[np.ndarray], truths: list[np.ndarray], found: list[Detections]) -> Figures:
    ious = [measure_iou(mask, truth) for mask, truth in zip(masks, truths, strict=True)]
    n_pieces = float(np.mean([len(measure_pieces(mask)) for mask in masks]))
    ap50, ap = measure_instance_ap(found) or 0.0, measure_mean_ap(found) or 0.0
    return Figures(n_pieces, float(np.mean(ious)), ap50, ap, _average_boxes(found), measure_count_error(found))


def _average_boxes(found: list[Detections]) -> float:
    return float(np.mean([one.box_iou for one in found if one.box_iou is not None]))


def list_rows(results: list[SetResult]) -> list[list[str]]:
    """The table of all sets: before, after."""
    rows = [["set", "objects", "true", "pieces", "mean IoU", "AP .5", "AP .5:.95", "box IoU", "one box", "count error"]]
    for one in results:
        pairs = [
            f"{getattr(one.before, name):{form}} {getattr(one.after, name):{form}}"
            for name, form in (("n_pieces", ".1f"), ("miou", ".3f"), ("ap50", ".3f"), ("ap", ".3f"), ("box_iou", ".3f"))
        ]
        error = f"{one.before.count_error:.1f} {one.after.count_error:.1f}"
        rows.append([one.name, one.drawing.objects, f"{one.n_true:.1f}", *pairs, f"{one.one_box:.3f}", error])
    changes = np.array([one.after.miou - one.before.miou for one in results])
    near = sum(0.5 <= one.after.n_pieces / one.n_true <= 2 for one in results)
    print(f"change of mean IoU {changes.mean():+.4f}, least {changes.min():+.4f}; within a factor of two: {near}")
    return rows


def list_left_out(results: list[SetResult]) -> list[list[str]]:
    """The share that is best for the mean IoU of the other sets, and what it changes in the one left out."""
    changes = np.array([np.array(one.by_share) - one.before.miou for one in results])
    means = zip(SHARES, changes.mean(axis=0), strict=True)
    print("mean change by share: " + ", ".join(f"{share:g} {change:+.4f}" for share, change in means))
    rows = [["left out", "share", "change", f"change at {SPECK_SHARE:g}"]]
    for number, one in enumerate(results):
        best = int(np.delete(changes, number, axis=0).mean(axis=0).argmax())
        chosen, fixed = changes[number, best], changes[number, SHARES.index(SPECK_SHARE)]
        rows.append([one.name, f"{SHARES[best]:g}", f"{chosen:+.4f}", f"{fixed:+.4f}"])
    return rows


def main() -> None:
    """Measure all sets and print both tables."""
    given = make_parser(__doc__).parse_args()
    results = []
    for folder in list_sets(given):
        results.append(measure_set(folder, given.out))
        print(folder.name, results[-1].drawing.objects, results[-1].drawing.objects_reason, flush=True)
    print(format_text(list_rows(results)))
    print(format_text(list_left_out(results)))


if __name__ == "__main__":
    main()
