"""The way in which the masks of a run are drawn: chosen once, from its vote and its *without* images."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from segvote.errors import UnreadableImageError
from segvote.features.networks.devices import CPU
from segvote.features.networks.sam import hash_refiner
from segvote.io.arrays import read_arrays
from segvote.io.images import read_picture, resize_labels
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
from segvote.masks.objects import MIN_OBJECTS, PieceShape, count_objects, judge_touching, measure_shapes
from segvote.masks.pieces import find_typical, measure_pieces
from segvote.numerics.pixels import convert_to_lab
from segvote.numerics.spread import spread_evenly
from segvote.numerics.threads import map_in_threads
from segvote.pipeline.drawing.images import draw_stored
from segvote.pipeline.workers import Resources, run_on_all
from segvote.pipeline.write import WriteTask
from segvote.run.run_folder import RunFolder, find_drawing, make_key, write_drawing
from segvote.settings import Settings
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
        drawing = add_objects(run, tasks, drawing, settings.objects, resources)
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
    width = float(np.median(map_in_threads(partial(_measure_selected, run), positive)))
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
    positive = [task for task in images if task.record.bag_label == WITH and task.selection.selected.any()]
    return _sample(negative), _sample(positive)


def _sample(tasks: list[WriteTask]) -> list[WriteTask]:
    return [tasks[place] for place in spread_evenly(len(tasks), N_SAMPLED)]


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
    labels, selected = _read_selected_segments(run, task)
    return measure_width(selected) / np.sqrt(labels.size / len(task.selection.selected))


def _read_selected(run: RunFolder, task: WriteTask) -> tuple[np.ndarray, np.ndarray]:
    """The image as filters see it, (h, w, 3) Lab, and (h, w) bool, the pixels of its selected segments."""
    lab = convert_to_lab(read_picture(task.image_path, LINE_SIZE))
    labels = read_arrays(run.segments_path(task.record.segments), ("labels",))["labels"]
    return lab, task.selection.selected.take(resize_labels(labels, lab.shape[:2]))


# Pieces and objects ---------------------------------------------------------------------------------------------------


def add_objects(
    run: RunFolder, tasks: Sequence[WriteTask], drawing: Drawing, objects: str, resources: Resources
) -> Drawing:
    """A drawing with the typical piece of its run and its kind of objects, the user's choice or *auto*."""
    _, positive = sample_images(tasks)
    pieces = map_in_threads(lambda task: measure_pieces(_read_selected_segments(run, task)[1]), positive)
    drawing = replace(drawing, typical_piece=round(find_typical(np.concatenate([*pieces, []])), 6))
    if objects != "auto":
        return replace(drawing, objects=objects, objects_reason="chosen by the user")
    if drawing.way == "lines":
        return replace(drawing, objects="one", objects_reason="the pieces of a broken line are one object")
    touching, reason = judge_objects(run, positive, drawing, resources)
    return replace(drawing, objects="touching" if touching else "pieces", objects_reason=reason)


def judge_objects(
    run: RunFolder, positive: Sequence[WriteTask], drawing: Drawing, resources: Resources
) -> tuple[bool, str]:
    """Whether the objects of a run touch, and the reason."""
    shapes = map_in_threads(lambda task: measure_shapes(_read_selected_segments(run, task)[1]), positive)
    if count_objects(shapes) < MIN_OBJECTS:
        # Masks take far longer to draw than this takes to see.
        return judge_touching(shapes)
    return judge_touching(list(run_on_all(partial(_measure_drawn, run, drawing), positive, resources)))


def _measure_drawn(run: RunFolder, drawing: Drawing, task: WriteTask) -> list[PieceShape]:
    """Shapes of the pieces of a mask drawn at working size, without the outline at the size of the photograph."""
    labels, _ = _read_selected_segments(run, task)
    arrays = task.selection, labels, task.heat
    try:
        mask = draw_stored(run, task.record.segments, task.image_path, *arrays, drawing, max(labels.shape))
    except UnreadableImageError:  # gone since it was segmented, which is reported when its mask is written
        return []
    return measure_shapes(mask)


def _read_selected_segments(run: RunFolder, task: WriteTask) -> tuple[np.ndarray, np.ndarray]:
    """The label map (h, w) of an image at working size, and (h, w) bool, the pixels of its selected segments."""
    labels = read_arrays(run.segments_path(task.record.segments), ("labels",))["labels"]
    return labels, task.selection.selected.take(labels)
