"""The way in which the masks of a run are drawn: chosen once, from its vote and its *without* images."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from segvote.features.networks.devices import CPU
from segvote.features.networks.sam import hash_refiner
from segvote.io.arrays import read_arrays
from segvote.io.images import resize_labels
from segvote.kernels.pixels import convert_to_lab
from segvote.masks import Drawing
from segvote.masks.lines import (
    LINE_SIZE,
    MAX_WIDTH,
    LineEvidence,
    choose_filter,
    count_responses,
    draw_lines,
    measure_elongation,
    measure_width,
)
from segvote.run.run_folder import RunFolder, find_drawing, make_key, write_drawing
from segvote.run.settings import Settings
from segvote.steps.drawing.superpixels import read_picture
from segvote.steps.workers import Resources, run_on_all
from segvote.steps.write import WriteTask
from segvote.types import WITH

# Images of each folder, evenly spaced, whose pixels are read.
N_SAMPLED = 32


def fetch_drawing(run: RunFolder, tasks: Sequence[WriteTask], settings: Settings, resources: Resources) -> Drawing:
    """The drawing of a run, stored by images and settings; chosen where none is stored.

    Corrections are not part of the key: the way of drawing does not change during a review.
    """
    bags = [(task.record.name, task.record.features) for task in tasks]
    key = make_key(settings=settings.to_dict(), bags=bags, **name_refiner(settings))
    drawing = find_drawing(run, key)
    if drawing is None:
        drawing = replace(choose_drawing(run, tasks, settings.draw, resources), **name_refiner(settings))
        write_drawing(run, key, drawing)
    return drawing


def name_refiner(settings: Settings) -> dict[str, Any]:
    """The fields of `Drawing` that name the network that redraws regions; empty where there is none."""
    if not settings.refine:
        return {}
    device = settings.feature_options.get("device", CPU)
    return {"refine": settings.refine, "refine_sha256": hash_refiner(settings.refine), "device": device}


def choose_drawing(run: RunFolder, tasks: Sequence[WriteTask], way: str, resources: Resources) -> Drawing:
    """Choose the way of drawing; `way` is the user's, ``auto`` to decide by the images."""
    if way in ("regions", "segments"):
        return Drawing(way, "chosen by the user")
    negative, positive = sample_images(tasks)
    if not positive or not negative:
        return Drawing("regions", "there are no images of both folders to compare")
    width = float(np.median([_measure_selected(run, task) for task in positive]))
    if way == "auto" and width > MAX_WIDTH:
        return Drawing("regions", f"selected segments are {width:.1f} segments wide, not thinner than one")
    line_filter, low, high, share = choose_filter(*count_surfaces(run, negative, positive, resources))
    lines = Drawing("lines", "chosen by the user", line_filter, low, high)
    if way == "lines":
        return lines
    measured = list(run_on_all(partial(_measure_lines, run, lines), positive, resources))
    figures = width, share, *np.median(measured, axis=0)
    evidence = LineEvidence(*(round(float(figure), 4) for figure in figures))
    return replace(lines, reason=evidence.explain()) if evidence.is_lines else Drawing("regions", evidence.explain())


def sample_images(tasks: Sequence[WriteTask]) -> tuple[list[WriteTask], list[WriteTask]]:
    """Images whose pixels are read: *without*, and *with* that have selected segments."""
    images = [task for task in tasks if not task.record.n_frames]
    negative = [task for task in images if task.record.bag_label != WITH]
    positive = [task for task in images if task.record.bag_label == WITH and task.decisions.any()]
    return _sample(negative), _sample(positive)


def _sample(tasks: list[WriteTask]) -> list[WriteTask]:
    places = np.linspace(0, len(tasks) - 1, min(len(tasks), N_SAMPLED)).round().astype(int)
    return [tasks[place] for place in places]


def count_surfaces(
    run: RunFolder, negative: Sequence[WriteTask], positive: Sequence[WriteTask], resources: Resources
) -> tuple[np.ndarray, list[np.ndarray]]:
    """Responses of all filters: in the *without* images together, and in the selected segments of each *with* image."""
    counts = list(run_on_all(partial(_count_image, run), [*negative, *positive], resources, "compare surfaces"))
    return np.sum(counts[: len(negative)], axis=0), counts[len(negative) :]


def _count_image(run: RunFolder, task: WriteTask) -> np.ndarray:
    lab, selected = _read_selected(run, task)
    return count_responses(lab, selected if task.record.bag_label == WITH else None)


def _measure_lines(run: RunFolder, drawing: Drawing, task: WriteTask) -> tuple[float, float]:
    """Elongation of the lines of an image, and their width by that of the selected segments."""
    lab, selected = _read_selected(run, task)
    lines = draw_lines(lab, selected, drawing.filter, drawing.low, drawing.high)
    return measure_elongation(lines), measure_width(lines) / max(measure_width(selected), 1.0)


def _measure_selected(run: RunFolder, task: WriteTask) -> float:
    """Width of the selected segments of an image in sides of a segment of mean area."""
    labels = read_arrays(run.segments_path(task.record.segments), ("labels",))["labels"]
    return measure_width(task.decisions.take(labels)) / np.sqrt(labels.size / len(task.decisions))


def _read_selected(run: RunFolder, task: WriteTask) -> tuple[np.ndarray, np.ndarray]:
    """The image as filters see it, (h, w, 3) Lab, and (h, w) bool, the pixels of its selected segments."""
    lab = convert_to_lab(read_picture(task.image_path, LINE_SIZE))
    labels = read_arrays(run.segments_path(task.record.segments), ("labels",))["labels"]
    return lab, task.decisions.take(resize_labels(labels, lab.shape[:2]))
