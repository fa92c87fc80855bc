"""Prediction for a folder: whether each image shows the object, with a probability and a mask."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from msgspec import Struct
from msgspec.structs import asdict

from segvote import __version__
from segvote.errors import BadInputError, UnreadableImageError
from segvote.io.masks import read_mask
from segvote.io.progress_bar import choose_progress
from segvote.io.stores import fetch_folder, is_uri, name_path_or_uri, open_folders
from segvote.io.tables import write_csv, write_json
from segvote.progress import Progress, count_along
from segvote.run.bags import Bag, list_unsorted_bags, name_bags
from segvote.run.output_names import remove_stale
from segvote.run.record import Problem
from segvote.run.run import Run
from segvote.run.run_folder import RunFolder, make_key
from segvote.steps.model import Model, read_model
from segvote.steps.predictor import FALSE_POSITIVE_RATE, Choice, Predictor
from segvote.steps.prepare import check_strict, extract_bags
from segvote.steps.table import gather_table
from segvote.steps.workers import N_JOBS, Resources, name_in_full
from segvote.steps.write import WriteTask, record_bag, write_pictures
from segvote.types import WITH, WITHOUT

RECORD = "predictions.json"
# Images whose features are in memory at the same time.
N_AT_ONCE = 64


class Prediction(Struct, frozen=True):
    """The result for one image."""

    name: str  # path below the folder
    stem: str  # name of its mask and heat map without extension
    contains: bool  # whether it shows the object, at the false-positive rate asked for; only then it has a mask
    unlike: bool  # a third answer: its score is high enough, but its best segments are unlike those of either folder
    probability: float  # that it shows the object, if the object is as common as in the training folders
    p_value: float  # share of images without the object that score at least as high
    score: float  # of its best segment, on the voter's scale
    area: float  # share of the image that the mask covers


@dataclass(frozen=True)
class Predictions:
    """The results for all images, and the folder that holds them."""

    path: Path
    images: tuple[Prediction, ...]  # that could be read, sorted by name
    rate: float  # the false-positive rate that is kept: the one asked for, or the lowest the training images allow
    threshold: float  # the score of an image above which it is predicted to show the object
    problems: tuple[Problem, ...]  # name and reason of each image that could not be read

    def __len__(self) -> int:
        return len(self.images)

    def read_mask(self, index: int) -> np.ndarray:
        """(h, w) bool at the displayed size."""
        return read_mask(RunFolder(self.path).mask_path(self.images[index].stem)) == 255

    def to_table(self) -> list[dict[str, Any]]:
        """One row per image, ready for ``pandas.DataFrame``."""
        return [asdict(one) for one in self.images]


def predict(
    model: Model | Path | str,
    folder: Path | str,
    out: Path | str,
    *,
    false_positive_rate: float = FALSE_POSITIVE_RATE,
    n_jobs: int = N_JOBS,
    device: str | None = None,
    scheduler: str | None = None,
    strict: bool = False,
    progress: Progress | None = None,
) -> Predictions:
    """Predict whether new images show the object, and draw their masks.

    Parameters
    ----------
    model : Model, path or str
        A run folder, its ``model`` folder or a copy of that, or a `Model`.
    folder : path or str
        Images and videos, nested as you like.
    out : path or str
        Where to write masks, heat maps, ``annotations.coco.json``, ``predictions.json`` and ``predictions.csv``.
    false_positive_rate : float
        Largest share of images without the object that may be predicted to show it.
    device : str, optional
        Where the network runs, ``auto``, ``cpu``, ``cuda`` or another; as in the training run where it is not given. A
        `Model` stays where it is.
    n_jobs, scheduler, strict, progress
        As for `annotate`.

    Returns
    -------
    Predictions

    Examples
    --------
    >>> import segvote
    >>> found = segvote.predict("out", "without", "predicted", false_positive_rate=0.2, n_jobs=1)
    >>> len(found), found.images[0].contains
    (6, False)
    """
    inputs, outs = name_in_full(scheduler, folder), name_in_full(scheduler, out)
    with (
        choose_progress(progress) as report,
        open_folders(inputs, outs, report) as ((images,), (target,)),
    ):
        if not isinstance(model, Model):
            model = open_model(_fetch_model(str(model), report) if is_uri(model) else model, device)
        predictor, resources = Predictor(model, false_positive_rate), Resources(n_jobs, scheduler, report)
        return _predict_folder(predictor, Path(images), RunFolder(target), resources, strict)


def _fetch_model(uri: str, progress: Progress) -> Path:
    """The model folder of a run in a store, without the rest of the run; or the folder itself."""
    try:
        return fetch_folder(f"{uri.rstrip('/')}/model", progress)
    except BadInputError:
        return fetch_folder(uri, progress)


def open_model(path: Path | str, device: str | None = None) -> Model:
    """As `read_model`, and refuses runs that are not finished."""
    path = Path(path)
    if RunFolder(path).classes_path.is_file():
        raise BadInputError(f"{path} holds several classes, each with a model of its own; give {path / 'classes'}/NAME")
    if (path / "run.json").is_file():
        Run(path)  # a run that is not finished has no model, or an old one
    return read_model(path, device)


def _predict_folder(
    predictor: Predictor, folder: Path, target: RunFolder, resources: Resources, strict: bool
) -> Predictions:
    model, record_path = predictor.model, target.path / RECORD
    texts = "holds no predictions", "holds predictions of another folder"
    target.check_input(record_path, folder, *texts)
    bags = list_unsorted_bags(folder, model.settings)
    with target.lock():
        target.check_input(record_path, folder, *texts)  # another process may have written to it meanwhile
        write_json(record_path, {"segvote": __version__, "input": name_path_or_uri(folder), "complete": False})
        state = model.extractor.get_state()
        digests = {name: hashlib.sha256(array.tobytes()).hexdigest() for name, array in state.items()}
        state_key = make_key(**digests) if digests else ""
        segmented = extract_bags(target, bags, model.settings, model.extractor, resources, words=state_key)
        check_strict(segmented, strict)
        good = [one for one in segmented if not one.problem]
        if not good:
            raise UnreadableImageError(f"none of the {len(segmented)} images can be read: {segmented[0].problem}")
        choices = list(count_along(_choose_all(target, predictor, good), "vote", len(good), resources.progress))
        images = _write_pictures(target, model, good, choices, resources)
        problems = tuple(Problem(one.name, one.problem) for one in segmented if one.problem)
        predictions = Predictions(target.path, images, predictor.rate, predictor.threshold, problems)
        _write(predictions, predictor, name_path_or_uri(folder))
    return predictions


def _choose_all(target: RunFolder, predictor: Predictor, good: Sequence[Bag]) -> Iterator[Choice]:
    model = predictor.model
    for start in range(0, len(good), N_AT_ONCE):
        some = good[start : start + N_AT_ONCE]
        table, _ = gather_table(target, some, model.extractor, model.settings, model.standardiser)
        yield from predictor.choose(table)


def _write_pictures(
    target: RunFolder, model: Model, good: Sequence[Bag], choices: Sequence[Choice], resources: Resources
) -> tuple[Prediction, ...]:
    """Masks, heat maps and the COCO file; those of images that are gone are deleted."""
    stems, tasks = name_bags(good), []
    for one, made in zip(good, choices, strict=True):
        bag = replace(one, bag_label=WITH if made.contains else WITHOUT)
        record = record_bag(bag, stems[bag.name], made.scores, made.decisions, made.areas, made.threshold)
        free = np.full(len(made.scores), -1, dtype=np.int8)
        tasks.append(WriteTask(record, bag.path, made.heat, made.decisions, free))
    records = write_pictures(target, tasks, model.settings, model.drawing, resources)
    remove_stale(target.path, stems.values())
    return tuple(
        Prediction(one.name, one.stem, made.contains, made.unlike, made.probability, made.p_value, made.score, one.area)
        for one, made in zip(records, choices, strict=True)
    )


def _write(predictions: Predictions, predictor: Predictor, source: str) -> None:
    write_csv(predictions.path / "predictions.csv", predictions.to_table(), Prediction.__struct_fields__)
    record = {
        "segvote": __version__,
        "input": source,
        "complete": True,
        "label": predictor.model.settings.label,
        "false_positive_rate": predictor.false_positive_rate,  # that was asked for
        "rate": predictor.rate,  # that is kept
        "threshold": predictor.threshold,
        "n_without": len(predictor.calibration.negatives),  # training images without the object
        "images": predictions.images,
        "problems": predictions.problems,
    }
    write_json(predictions.path / RECORD, record)
