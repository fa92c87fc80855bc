"""Prediction for a folder of any size: whether each image shows the object, with a probability and a mask."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from msgspec.structs import asdict

from segvote import __version__
from segvote.errors import BadInputError, UnreadableImageError
from segvote.inputs.bags import Bag, Problem, Source, hash_bag, is_stack, list_unread_bags, name_bag
from segvote.io.addresses import split_uri
from segvote.io.files import open_scratch, write_bytes
from segvote.io.masks import read_mask
from segvote.io.objects import Store
from segvote.io.own_folders import refuse_inside
from segvote.io.picture_formats import split_name
from segvote.io.shards import JSON_LINES, check_shards
from segvote.io.stores import fetch_folder, is_uri, name_path_or_uri
from segvote.io.tables import write_csv, write_json
from segvote.pipeline.blocks import (
    STEP,
    BlockWriter,
    Prediction,
    Row,
    Shards,
    explain_misfit,
    list_blocks,
    make_model_key,
    make_problem,
)
from segvote.pipeline.current import is_current
from segvote.pipeline.extract import extract_source
from segvote.pipeline.image_task import ImagePredictor, ModelAddress, NewImage
from segvote.pipeline.model import Model, read_model
from segvote.pipeline.predictor import FALSE_POSITIVE_RATE, Predictor
from segvote.pipeline.prepare import check_strict, extract_bags
from segvote.pipeline.workers import Resources, run_on_all
from segvote.pipeline.write import DrawnMask, write_annotations
from segvote.progress import Progress
from segvote.run.output_names import name_bags, remove_stale
from segvote.run.run import Run
from segvote.run.run_folder import RunFolder

RECORD = "predictions.json"
COLUMNS = ("name", "stem", "contains", "score", "threshold", "p_value", "probability", "unlike", "area")


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
    shards: str = JSON_LINES,
) -> Predictions:
    """Predict whether the images of a folder show the object, and draw their masks; see `segvote.predict`."""
    check_shards(shards)
    path = None
    if not isinstance(model, Model):
        path = _fetch_model(str(model), resources.progress) if is_uri(model) else Path(model)
        model = open_model(path, device)
    with explain_misfit():
        predictor = Predictor(model, false_positive_rate)
    call = _Prediction(predictor, Path(folder), RunFolder(out), resources, strict, shards)
    return call.predict(None if path is None else find_model(path), device)


def find_model_run(model: Any) -> Run | None:
    """The run on this machine that a model belongs to, by the folder of the run or of its model."""
    if isinstance(model, Model) or is_uri(model):
        return None
    folders = [Path(model), Path(model).parent] if Path(model).name == "model" else [Path(model)]
    return next((Run(folder) for folder in folders if RunFolder(folder).record_path.is_file()), None)


def is_behind(model: Any) -> bool:
    """Whether a model belongs to a run with corrections that it does not follow yet; of a store, two files are read."""
    if not is_uri(model):
        run = find_model_run(model)
        return run is not None and not is_current(run)
    store = Store("".join(split_uri(model)))
    with open_scratch() as scratch:
        for name in ("run.json", "review.sqlite"):
            data = store.read(name)
            if data is not None:
                write_bytes(scratch / name, data)
        stored = RunFolder(scratch)
        if not stored.record_path.is_file():
            return False
        if not stored.read_record().complete:
            raise BadInputError(f"the run in {store.uri} is not finished; repeat the same `segvote annotate`")
        return stored.corrections_path.is_file() and not is_current(Run(scratch))


def find_model(path: Path) -> Path:
    """The folder with the files of a model, of a run folder or that folder itself."""
    return next(one for one in (path / "model", path) if (one / "model.json").is_file())


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


@dataclass(frozen=True)
class _Prediction:
    """One call: a predictor, a folder of images, and where the results go."""

    predictor: Predictor
    folder: Path
    target: RunFolder
    resources: Resources
    strict: bool
    shards: str

    def predict(self, model: Path | None, device: str | None) -> Predictions:
        """Predict all images; `model` is the folder from which tasks on a store read it."""
        target, source = self.target, name_path_or_uri(self.folder)
        record_path = target.path / RECORD
        texts = "holds no predictions", "holds predictions of another folder"
        refuse_inside(target.path, [self.folder])
        target.check_input(record_path, self.folder, *texts)
        bags = None if self.resources.tasks else list_unread_bags(self.folder, self.predictor.model.settings)
        with target.lock():
            target.check_input(record_path, self.folder, *texts)  # another process may have written to it meanwhile
            write_json(record_path, {"segvote": __version__, "input": source, "complete": False})
            self.resources.save()
            if bags is None:
                assert model is not None
                bags = self._list_stored()
                rows = self._predict_stored(bags, model, device)
            else:
                rows = self._predict_blocks(bags)
            predictions = _write_rows(target, self.predictor, bags, self._check(rows))
            _write(predictions, self.predictor, source)
        return predictions

    def _check(self, found: Iterator[list[Row]]) -> Iterator[Row]:
        for rows in found:
            check_strict([Bag(row.name, "", Path(row.name), "", row.problem) for row in rows], self.strict)
            yield from rows

    @property
    def _store(self) -> Shards:
        return Shards(self.target, self.target.path / "shards", self.shards, make_model_key(self.predictor))

    def _predict_blocks(self, bags: Sequence[Bag]) -> Iterator[list[Row]]:
        """The rows of all bags, a block at a time: segmented, scored, drawn."""
        model = self.predictor.model
        writer = BlockWriter(self.target, self.predictor, name_bags(bags))

        def predict_block(block: Sequence[Bag], resources: Resources) -> list[Row]:
            hashed = list(map(hash_bag, block))
            segmented = extract_bags(self.target, hashed, model.settings, model.extractor, resources, is_fitted=True)
            check_strict(segmented, self.strict)
            rows = writer.write(segmented, resources)
            for row in rows:
                if row.record and row.problem:  # a mask of an earlier prediction may be that of another model
                    raise UnreadableImageError(f"{row.problem}; repeat the command")
            return rows

        return self._store.predict(list_blocks(bags), predict_block, describe_file, self.resources)

    def _list_stored(self) -> list[Bag]:
        """The images in a store by their names; stacks are read by tasks where each of their pages is an image."""
        settings = self.predictor.model.settings

        def list_sources(sources: Sequence[Source]) -> Iterator[list[Bag]]:
            stacks = [source for source in sources if settings.pages == "all" and is_stack(source.path)]
            listed = run_on_all(partial(extract_source, settings, None), stacks, self.resources)
            found = dict(zip(stacks, listed, strict=True))
            return (found.get(source) or [name_bag(settings, source)] for source in sources)

        return list_unread_bags(self.folder, settings, list_sources)

    def _predict_stored(self, bags: Sequence[Bag], model: Path, device: str | None) -> Iterator[list[Row]]:
        """The rows of all bags in a store, each of which is a task."""
        resources, tasks = self.resources, self.resources.tasks
        assert tasks is not None
        rate, key = self.predictor.false_positive_rate, make_model_key(self.predictor)
        function = ImagePredictor(self.target, ModelAddress(tasks.lend(model), rate, device, key))
        stems = name_bags(bags)

        def predict_all(blocks: Sequence[Sequence[Bag]]) -> Iterator[list[Row]]:
            images = [NewImage(bag, stems[bag.name]) for block in blocks for bag in block if not bag.problem]
            rows = run_on_all(function, images, resources, STEP)
            for block in blocks:
                yield [make_problem(bag) if bag.problem else next(rows) for bag in block]

        def describe(bag: Bag) -> Any:
            return bag.name, tasks.describe(bag.path)

        return self._store.fill(list_blocks(bags), predict_all, describe, resources)


def describe_file(bag: Bag) -> tuple[str, list[tuple[int, int]]]:
    """Name of a bag, and size and time of its file, or of the frames in its folder."""
    path = split_name(bag.path)[0]
    files = sorted(path.iterdir()) if path.is_dir() else [path]
    stats = [one.stat() for one in files if one.exists()]
    return bag.name, [(one.st_size, one.st_mtime_ns) for one in stats]


def _write_rows(target: RunFolder, predictor: Predictor, bags: Sequence[Bag], rows: Iterator[Row]) -> Predictions:
    """Write the COCO file and the stacks as rows come; masks of images that are gone are deleted."""
    images: list[Prediction] = []
    problems: list[Problem] = []
    paths = {bag.name: bag.path for bag in bags}

    def list_drawn() -> Iterator[DrawnMask]:
        for row in rows:
            if row.record is None:
                problems.append(Problem(row.name, row.problem))
            else:
                images.append(row.prediction)
                yield row.get_drawn(paths[row.name])
        if not images:
            raise UnreadableImageError(f"none of the {len(problems)} images can be read: {problems[0].reason}")

    write_annotations(target, list(paths), list_drawn(), predictor.model.settings)
    remove_stale(target.path, [one.stem for one in images])
    return Predictions(target.path, tuple(images), predictor.rate, predictor.threshold, tuple(problems))


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
