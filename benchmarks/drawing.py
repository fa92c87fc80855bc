"""How masks are drawn: outlines at native resolution, lines, and their cost; last line JSON.

    python benchmarks/drawing.py RUN ... [--part outline|lines|cost]

RUN is a finished run of a set with ``masks`` beside its *with* folder, such as those of ``suite.py``. Nothing is voted
again: each part redraws the votes of the run.
"""

from __future__ import annotations

import multiprocessing
import resource
import time
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import cv2
import numpy as np

from harness import Given, run_parts
from segvote.datasets import make_surfaces
from segvote.evaluation.truth import find_truth, list_truth
from segvote.io.images import resize_labels
from segvote.masks import Decided, Drawing, draw_mask, lines, outline, scale_heat
from segvote.masks.lines import LineFilter
from segvote.masks.sharpen import sharpen
from segvote.metrics import has_outline, measure_boundary_f, measure_iou
from segvote.metrics.overlap import split_truth
from segvote.run.run import Run
from segvote.segmentation import SEGMENTERS
from segvote.steps.drawing.choosing import count_surfaces, sample_images
from segvote.steps.drawing.superpixels import fetch_superpixels, read_picture, segment_superpixels
from segvote.steps.workers import Resources
from segvote.steps.write import WriteTask
from segvote.types import WITH

N_JUDGED, N_QUICK = 30, 10  # images of a run
SIDES = (1000, 2000, 4000)  # 1, 4 and 16 megapixels
FALSE_SHARES = tuple(product((0.1, 0.15, 0.2, 0.3), (0.03, 0.05, 0.08)))
REGIONS = Drawing("regions")
Counts = tuple[np.ndarray, list[np.ndarray]]  # of `count_surfaces`


def list_tasks(run: Run) -> list[WriteTask]:
    """What was decided on each image of a run."""
    votes, tasks = run.votes, []
    for index, bag in enumerate(run.bags):
        scores = votes["scores"][run.get_slice(index)]
        high = float((scores if bag.bag_label == WITH else votes["scores"]).max())
        heat = scale_heat(scores, float(votes["thresholds"][index]), float(votes["scores"].min()), high)
        decisions, free = votes["decisions"][run.get_slice(index)].astype(bool), np.full(len(heat), -1, np.int8)
        tasks.append(WriteTask(bag, run.find_image(index), heat.astype(np.float32), decisions, free))
    return tasks


class Judged:
    """One image with its truth, to be drawn in several ways."""

    def __init__(self, run: Run, task: WriteTask, truth: np.ndarray) -> None:
        labels = run.read_segments(run.find(task.record.name))["labels"]
        self.truth, self.read = truth, partial(read_picture, task.image_path)
        self.decided = Decided(labels, task.heat, task.decisions, task.fixed)
        self.superpixels = fetch_superpixels(run.folder, task.record.segments, labels, task.image_path)

    def draw_coarse(self) -> np.ndarray:
        found, heat = self.superpixels, self.decided.heat.take(self.decided.labels)
        warm = np.bincount(found.labels.ravel(), weights=heat.ravel()) / found.areas
        return sharpen(found, warm).take(found.labels)

    def judge(self, drawn: np.ndarray) -> tuple[float, float]:
        """IoU and Boundary F of a mask."""
        mask = resize_labels(drawn, self.truth.shape)
        return measure_iou(mask, self.truth), measure_boundary_f(mask, self.truth)

    def draw(self, drawing: Drawing) -> tuple[float, float]:
        size = max(self.truth.shape)
        return self.judge(draw_mask(self.decided, self.superpixels, drawing, size, self.read))


def list_judged(run: Run, quick: bool) -> list[Judged]:
    readers = list_truth(Path(run.inputs.with_folder).parent / "masks")
    found = [(task, find_truth(readers, task.record.name)) for task in list_tasks(run) if task.decisions.any()]
    known = [(task, reader) for task, reader in found if task.record.bag_label == WITH and reader is not None]
    places = np.unique(np.linspace(0, len(known) - 1, N_QUICK if quick else N_JUDGED).astype(int))
    return [Judged(run, known[place][0], known[place][1]().mask) for place in places]


def measure_outline(given: Given) -> dict[str, Any]:
    """IoU and Boundary F of the coarse mask, the native one, and a band labelled by the truth; errors in the band."""
    rows = {"set": "IoU F coarse, IoU F native, IoU F bound, share of wrong pixels in the band"}
    for folder in given.sets:
        judged = [one for one in list_judged(Run(folder), given.quick) if has_outline(one.truth)]
        if judged:
            figures = np.mean([_bound_outline(one) for one in judged], axis=0)
            rows[folder.name] = " ".join(f"{figure:.3f}" for figure in figures)
    return rows


def _bound_outline(one: Judged) -> list[float]:
    coarse, (truth, visible) = one.draw_coarse(), split_truth(one.truth)
    depth = outline.measure_signed_distance(coarse)
    is_near = cv2.resize(np.abs(depth), truth.shape[::-1], interpolation=cv2.INTER_LINEAR) < outline.REACH
    large = resize_labels(coarse, truth.shape)
    wrong = (large != truth) & visible
    bound = one.judge(np.where(is_near, truth, large))
    share = (wrong & is_near).sum() / max(wrong.sum(), 1)
    return [*one.judge(coarse), *one.draw(REGIONS), *bound, float(share)]


def measure_lines(given: Given) -> dict[str, Any]:
    """Mean IoU of lines for each pair of false shares, each run left out once."""
    rows, tables, names = {"false shares": str(FALSE_SHARES)}, [], []
    for folder in given.sets:
        run = Run(folder)
        judged = list_judged(run, given.quick)
        counts = count_surfaces(run.folder, *sample_images(list_tasks(run)), Resources(1))
        tables.append([_redraw_lines(judged, counts, shares) for shares in FALSE_SHARES])
        names.append(folder.name)
        rows[folder.name] = " ".join(f"{figure:.3f}" for figure in tables[-1])
    for row, name in enumerate(names if len(names) > 1 else []):
        best = np.delete(tables, row, axis=0).mean(axis=0).argmax()  # for the mean of the other sets
        rows[f"{name} left out"] = f"{tables[row][best]:.3f}"
    return rows


def _redraw_lines(judged: list[Judged], counts: Counts, shares: tuple[float, float]) -> float:
    before, lines.FALSE_SHARES = lines.FALSE_SHARES, shares
    try:
        drawing = Drawing("lines", "", *lines.choose_filter(*counts)[:3])
    finally:
        lines.FALSE_SHARES = before
    return float(np.mean([one.draw(drawing)[0] for one in judged]))


def measure_cost(given: Given) -> dict[str, Any]:
    """CPU seconds and peak memory of one mask, decoding and enlarging included, at 1, 4 and 16 megapixels."""
    surface, rows = next(make_surfaces(1, 0, kind="stain", size=SIDES[0], area=(0.04, 0.04))), {}
    for side, way in product(SIDES, ("regions", "lines")):
        path = given.scratch / f"{side}.jpg"
        cv2.imwrite(str(path), cv2.resize(surface.image[..., ::-1], (side, side), interpolation=cv2.INTER_CUBIC))
        # A process of its own for each, for its own peak.
        with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
            seconds, gigabytes = pool.submit(_draw_one, path, side, surface.mask, way).result()
        n_mega = side**2 / 1e6
        rows[f"{way}, {n_mega:.0f} Mpx"] = f"{seconds:.2f} s, {seconds / n_mega:.3f} s/Mpx, {gigabytes:.2f} GB"
    return rows


def _draw_one(path: Path, side: int, truth: np.ndarray, way: str) -> tuple[float, float]:
    picture = read_picture(path, 400)
    labels = SEGMENTERS["ward"](picture, n_segments=200).labels
    inside = resize_labels(truth, labels.shape)
    shares = np.bincount(labels.ravel(), weights=inside.ravel()) / np.bincount(labels.ravel())
    decided = Decided(labels, shares, shares > 0.5, np.full(len(shares), -1, np.int8))
    superpixels, drawing = segment_superpixels(picture, labels), Drawing(way, "", LineFilter(0, -1, 0), 3.0, 6.0)
    began = time.process_time()
    mask = draw_mask(decided, superpixels, drawing, side, partial(read_picture, path))
    resize_labels(mask, (side, side))
    return time.process_time() - began, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


if __name__ == "__main__":
    run_parts(__doc__ or "", {"outline": measure_outline, "lines": measure_lines, "cost": measure_cost})
