"""The way in which the masks of a run are drawn: chosen once, from its vote and its *without* images."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from segvote.features.networks.devices import CPU
from segvote.features.networks.sam import hash_refiner
from segvote.io.arrays import read_arrays
from segvote.io.images import resize_labels
from segvote.kernels.pixels import convert_to_lab
from segvote.masks import Drawing
from segvote.masks.choice import MAX_WIDTH, LineEvidence, choose_filter, measure_elongation, measure_width
from segvote.masks.lines import LINE_SIZE, LineModel, count_responses, draw_lines
from segvote.progress import Progress, count_along
from segvote.run.run_folder import RunFolder, find_drawing, make_key, write_drawing
from segvote.run.settings import Settings
from segvote.steps.drawing.superpixels import read_picture
from segvote.steps.workers import Resources, run_on_all
from segvote.steps.write import WriteTask
from segvote.types import WITH

# Images of each folder, evenly spaced, whose pixels are looked at.
N_SAMPLED = 32


def fetch_drawing(
    run: RunFolder, tasks: Sequence[WriteTask], settings: Settings, resources: Resources, progress: Progress
) -> Drawing:
    """The way of drawing of a run: as it was chosen before for the same images and settings, or chosen now, and kept.

    Corrections are no part of the key: the way does not change under the user's hands.
    """
    bags = [(task.record.name, task.record.features) for task in tasks]
    key = make_key(settings=settings.to_dict(), bags=bags, **name_refiner(settings))
    drawing = find_drawing(run, key)
    if drawing is None:
        drawing = choose_drawing(run, tasks, settings.draw, resources, progress)
        drawing = replace(drawing, **name_refiner(settings))
        write_drawing(run, key, drawing)
    return drawing


def name_refiner(settings: Settings) -> dict[str, Any]:
    """The fields of `Drawing` that name the network that redraws regions; empty where there is none."""
    if not settings.refine:
        return {}
    device = settings.feature_options.get("device", CPU)
    return {"refine": settings.refine, "refine_sha256": hash_refiner(settings.refine), "device": device}


def choose_drawing(
    run: RunFolder, tasks: Sequence[WriteTask], way: str, resources: Resources, progress: Progress
) -> Drawing:
    """Choose the way of drawing; `way` is the user's, ``auto`` to decide by the images."""
    if way in ("regions", "segments"):
        return Drawing(way, "chosen by the user")
    negative, positive = sample_images(tasks)
    if not positive or not negative:
        return Drawing("regions", "there are no images of both folders to compare")
    width = float(np.median([_measure_selected(run, task) for task in positive]))
    if way == "auto" and width > MAX_WIDTH:
        return Drawing("regions", f"selected segments are {width:.1f} segments wide, not thinner than one")
    model, share = choose_filter(*count_surfaces(run, negative, positive, resources, progress))
    return _decide(way, model, weigh_lines(run, positive, model, share, resources))


def _decide(way: str, model: LineModel, evidence: LineEvidence) -> Drawing:
    if way == "auto" and not evidence.is_lines:
        return Drawing("regions", evidence.explain())
    reason = evidence.explain() if way == "auto" else "chosen by the user"
    return Drawing("lines", reason, **vars(model.filter), low=model.low, high=model.high)


def sample_images(tasks: Sequence[WriteTask]) -> tuple[list[WriteTask], list[WriteTask]]:
    """Images that are looked at: *without*, and *with* of which something is selected."""
    images = [task for task in tasks if not task.record.n_frames]
    negative = [task for task in images if task.record.bag_label != WITH]
    positive = [task for task in images if task.record.bag_label == WITH and task.decisions.any()]
    return _sample(negative), _sample(positive)


def _sample(tasks: list[WriteTask]) -> list[WriteTask]:
    places = np.linspace(0, len(tasks) - 1, min(len(tasks), N_SAMPLED)).round().astype(int)
    return [tasks[place] for place in places]


def count_surfaces(
    run: RunFolder,
    negative: Sequence[WriteTask],
    positive: Sequence[WriteTask],
    resources: Resources,
    progress: Progress,
) -> tuple[np.ndarray, list[np.ndarray]]:
    """Responses of all filters: in the *without* images together, and in the selected segments of each *with* image."""
    tasks = [*negative, *positive]
    counted = count_along(run_on_all(_ResponseCounter(run), tasks, resources), "compare surfaces", len(tasks), progress)
    counts = list(counted)
    return np.sum(counts[: len(negative)], axis=0), counts[len(negative) :]


def weigh_lines(
    run: RunFolder, positive: Sequence[WriteTask], model: LineModel, share: float, resources: Resources
) -> LineEvidence:
    """The figures that tell whether lines suit a run, medians over the images."""
    width = np.median([_measure_selected(run, task) for task in positive])
    elongation, thickness = np.median(list(run_on_all(_LineMeasurer(run, model), positive, resources)), axis=0)
    return LineEvidence(*(round(float(figure), 4) for figure in (width, share, elongation, thickness)))


def _measure_selected(run: RunFolder, task: WriteTask) -> float:
    """Width of the selected segments of an image in sides of a segment of mean area."""
    labels = read_arrays(run.segments_path(task.record.segments), ("labels",))["labels"]
    return measure_width(task.decisions.take(labels)) / np.sqrt(labels.size / len(task.decisions))


def _read_selected(run: RunFolder, task: WriteTask) -> tuple[np.ndarray, np.ndarray]:
    """The image as filters see it, (h, w, 3) Lab, and (h, w) bool, the pixels of its selected segments."""
    lab = convert_to_lab(read_picture(task.image_path, LINE_SIZE))
    labels = read_arrays(run.segments_path(task.record.segments), ("labels",))["labels"]
    return lab, task.decisions.take(resize_labels(labels, lab.shape[:2]))


@dataclass(frozen=True)
class _ResponseCounter:
    """Counts the responses of all filters in one image: in selected segments, of a *without* image everywhere."""

    run: RunFolder

    def __call__(self, task: WriteTask) -> np.ndarray:
        lab, selected = _read_selected(self.run, task)
        return count_responses(lab, selected if task.record.bag_label == WITH else None)


@dataclass(frozen=True)
class _LineMeasurer:
    """Draws the lines of one image; elongation, and width by that of the selected segments."""

    run: RunFolder
    model: LineModel

    def __call__(self, task: WriteTask) -> tuple[float, float]:
        lab, selected = _read_selected(self.run, task)
        lines = draw_lines(lab, selected, self.model)
        return measure_elongation(lines), measure_width(lines) / max(measure_width(selected), 1.0)
