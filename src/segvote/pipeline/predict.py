"""Prediction for a folder: whether each image shows the object, with a probability and a mask."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from msgspec import Struct
from msgspec.structs import asdict

from segvote import __version__
from segvote.errors import BadInputError, DamagedFileError, SegvoteError, UnreadableImageError
from segvote.inputs.bags import Bag, Problem, list_unsorted_bags
from segvote.io.masks import read_mask
from segvote.io.own_folders import refuse_inside
from segvote.io.stores import fetch_folder, is_uri, name_path_or_uri
from segvote.io.tables import write_csv, write_json
from segvote.pipeline.model import Model, read_model
from segvote.pipeline.predictor import FALSE_POSITIVE_RATE, Choice, Predictor
from segvote.pipeline.prepare import check_strict, extract_bags
from segvote.pipeline.table import gather_table
from segvote.pipeline.video.tubes import number_tubes
from segvote.pipeline.workers import Resources
from segvote.pipeline.write import KEPT, WriteTask, record_bag, write_pictures
from segvote.progress import Progress, count_along
from segvote.run.output_names import name_bags, remove_stale
from segvote.run.run import Run
from segvote.run.run_folder import RunFolder
from segvote.types import WITH, WITHOUT

RECORD = "predictions.json"
COLUMNS = ("name", "stem", "contains", "score", "threshold", "p_value", "probability", "unlike", "area")
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


def predict_folder(
    model: Model | Path | str,
    folder: Path | str,
    out: Path | str,
    false_positive_rate: float = FALSE_POSITIVE_RATE,
    device: str | None = None,
    resources: Resources = Resources(),
    strict: bool = False,
) -> Predictions:
    """Predict whether the images of a folder show the object, and draw their masks; see `segvote.predict`."""
    if not isinstance(model, Model):
        model = open_model(_fetch_model(str(model), resources.progress) if is_uri(model) else model, device)
    with explain_misfit():
        predictor = Predictor(model, false_positive_rate)
    return _predict_folder(predictor, Path(folder), RunFolder(out), resources, strict)


@contextlib.contextmanager
def explain_misfit() -> Iterator[None]:
    """Turn the error of arrays that do not fit each other into `DamagedFileError`: a model may come from elsewhere."""
    try:
        yield
    except SegvoteError:
        raise
    except (ValueError, IndexError, KeyError, TypeError) as error:
        reason = " ".join(str(error).split())[:200]
        raise DamagedFileError(f"the arrays of the model do not fit each other ({reason}); annotate again") from error


def find_model_run(model: Any) -> Run | None:
    """The run on this machine that a model belongs to, by the folder of the run or of its model."""
    if isinstance(model, Model) or is_uri(model):
        return None
    folders = [Path(model), Path(model).parent] if Path(model).name == "model" else [Path(model)]
    return next((Run(folder) for folder in folders if RunFolder(folder).record_path.is_file()), None)


def has_log(model: Any) -> bool:
    """Whether a model is a run in a store with corrections, which its model may not follow yet."""
    with contextlib.suppress(BadInputError):
        return is_uri(model) and fetch_folder(f"{model.rstrip('/')}/review.sqlite").is_file()
    return False


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
    refuse_inside(target.path, [folder])
    target.check_input(record_path, folder, *texts)
    bags = list_unsorted_bags(folder, model.settings)
    with target.lock():
        target.check_input(record_path, folder, *texts)  # another process may have written to it meanwhile
        write_json(record_path, {"segvote": __version__, "input": name_path_or_uri(folder), "complete": False})
        segmented = extract_bags(target, bags, model.settings, model.extractor, resources, is_fitted=True)
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
        with explain_misfit():
            table, _ = gather_table(target, some, model.extractor, model.settings, model.standardiser)
        with explain_misfit():
            choices = list(predictor.choose(table, number_tubes(target, some)))
        yield from choices


def _write_pictures(
    target: RunFolder, model: Model, good: Sequence[Bag], choices: Sequence[Choice], resources: Resources
) -> tuple[Prediction, ...]:
    """Masks, heat maps and the COCO file; those of images that are gone are deleted."""
    stems, tasks = name_bags(good), []
    for one, made in zip(good, choices, strict=True):
        bag = replace(one, bag_label=WITH if made.contains else WITHOUT)
        record = record_bag(bag, stems[bag.name], made.selection, made.areas)
        tasks.append(WriteTask(record, bag.path, made.selection, made.heat))
    records, unwritten = write_pictures(target, tasks, model.settings, model.drawing, resources)
    for problem in unwritten:  # a mask of an earlier prediction may be that of another model
        raise UnreadableImageError(f"{problem.reason.removesuffix(f'; {KEPT}')}; repeat the command")
    remove_stale(target.path, stems.values())
    return tuple(
        Prediction(one.name, one.stem, made.contains, made.unlike, made.probability, made.p_value, made.score, one.area)
        for one, made in zip(records, choices, strict=True)
    )


def _write(predictions: Predictions, predictor: Predictor, source: str) -> None:
    # Beside the score what it is compared with: an image may show the object at a probability below one half.
    rows = [{**row, "threshold": predictions.threshold} for row in predictions.to_table()]
    write_csv(predictions.path / "predictions.csv", rows, COLUMNS)
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
