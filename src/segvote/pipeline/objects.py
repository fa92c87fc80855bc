"""Single objects of a run: the instances of its masks, cut and joined as in the review, with their scores."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from segvote.io.images import resize_labels
from segvote.pipeline.strokes import label_instances
from segvote.run.classes import ClassRuns
from segvote.run.correction_log import Action
from segvote.run.corrections import read_written_corrections
from segvote.run.run import Run
from segvote.types import Annotation

# Name of an image and of a class to its *cut* and *join* actions.
Divisions = dict[tuple[str, str], Sequence[Action]]


def divide_instances(
    run: Run | ClassRuns, annotations: Iterable[Annotation], within: bool = False
) -> Iterator[Annotation]:
    """Give every part of a run's annotations its instances, see `divide_parts`."""
    return divide_parts(*_list_runs(run), annotations, within)


def divide_parts(
    runs: Mapping[str, Run], names: Sequence[str], annotations: Iterable[Annotation], within: bool = False
) -> Iterator[Annotation]:
    """Give every part of annotations its instances: the objects of its run, cut and joined as in the review.

    Runs by their labels; `names` are those of their bags in the annotations. A part of a video, and of a run whose
    objects are *one*, stays one object unless `within`.
    """
    numbers = {name: index for index, name in enumerate(names)}
    divisions = _find_divisions(runs, names)
    for annotation in annotations:
        index, parts = numbers.get(annotation.name), []  # None: a frame of a video
        for part in annotation.parts:
            run, actions = runs[part.label], divisions.get((annotation.name, part.label), ())
            objects = "one" if index is None else run.drawing.objects
            instances = label_instances(part.mask, actions, "pieces" if within and objects == "one" else objects)
            scores = None if index is None else score_objects(run, index, instances)
            parts.append(replace(part, instances=instances, scores=scores))
        yield replace(annotation, parts=tuple(parts))


def score_objects(run: Run, index: int, instances: np.ndarray) -> np.ndarray:
    """(n_objects,) mean score of the segments of an image in the pixels of each object (h, w), from 1."""
    scores = run.read_scores(index)
    labels = resize_labels(run.read_segments(index)["labels"], instances.shape)
    summed = np.bincount(instances.ravel(), weights=scores.take(labels).ravel())
    return summed[1:] / np.maximum(np.bincount(instances.ravel())[1:], 1)


def read_divisions(run: Run | ClassRuns) -> Divisions:
    """The *cut* and *join* actions of a run, or of all classes of one."""
    return _find_divisions(*_list_runs(run))


def _find_divisions(runs: Mapping[str, Run], names: Sequence[str]) -> Divisions:
    by_image: Divisions = {}
    for label, run in runs.items():
        divisions = read_written_corrections(run).divisions
        for name, bag in zip(names, run.all_bags, strict=True):
            if bag.digest in divisions:
                by_image[name, label] = divisions[bag.digest]
    return by_image


def _list_runs(run: Run | ClassRuns) -> tuple[Mapping[str, Run], list[str]]:
    """Runs by their labels, and the names of their bags."""
    if isinstance(run, ClassRuns):
        return run.runs, [image.name for image in run.images]
    return {run.settings.label: run}, [bag.name for bag in run.all_bags]
