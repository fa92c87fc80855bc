"""Prediction of any number of images in blocks, each of which is finished before the next one is read.

The results of a block are a shard, a file of rows that is written last. Its name has a key of the model and of the
images: a killed command finds the shards that it finished, and does not read their images again. At the end all
files are those of an undisturbed command.
"""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from msgspec import Struct, structs, to_builtins

from segvote import __version__
from segvote.errors import DamagedFileError, SegvoteError
from segvote.inputs.bags import Bag
from segvote.io.arrays import write_arrays
from segvote.io.exports.coco import Shape
from segvote.io.shards import read_shard, write_shard
from segvote.io.tables import convert_record
from segvote.pipeline.extract import FEATURES_VERSION, SEGMENTS_VERSION
from segvote.pipeline.predictor import Choice, Predictor
from segvote.pipeline.prepare import EXTRACT, list_extracted
from segvote.pipeline.table import gather_table
from segvote.pipeline.video.tubes import number_tubes
from segvote.pipeline.workers import Resources
from segvote.pipeline.write import DrawnMask, WriteTask, draw_masks, record_bag
from segvote.progress import Progress
from segvote.run.record import BagRecord
from segvote.run.run_folder import RunFolder, make_key
from segvote.types import WITH, WITHOUT

# Images of a shard.
N_IMAGES = 256
STEP = "predict"
# A prediction behind its name where there is none.
_NOTHING = "", False, False, 0.0, 1.0, 0.0, 0.0


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


class Row(Prediction, frozen=True):
    """A row of a shard: a prediction, or the reason why there is none."""

    problem: str = ""  # why the image could not be read
    objects: list[list[Shape]] = []  # COCO entries of the objects of an image, or of each frame of a video
    record: BagRecord | None = None

    @property
    def is_passing(self) -> bool:
        """Whether the image changed while it was predicted."""
        return bool(self.record and self.problem)

    @property
    def prediction(self) -> Prediction:
        return Prediction(*(getattr(self, name) for name in Prediction.__struct_fields__))

    def get_drawn(self, image_path: Path) -> DrawnMask:
        """What the COCO file needs of the image."""
        assert self.record is not None
        return DrawnMask(self.record, image_path, self.objects)


class FailedRow(Row, frozen=True):
    """The row of an image that a store did not give, or whose mask it did not take."""

    @property
    def is_passing(self) -> bool:
        return True


@dataclass(frozen=True)
class BlockWriter:
    """Predicts images with segments and features in a run folder, and writes their masks and heat maps there."""

    target: RunFolder
    predictor: Predictor
    stems: Mapping[str, str]  # of all bags by their names
    has_labels: bool = False  # whether the bag labels say which images show the object

    def write(self, bags: Sequence[Bag], resources: Resources) -> list[Row]:
        """One row for each bag; those with a problem are passed on."""
        good = [bag for bag in bags if not bag.problem]
        resources.fetch(list_extracted(self.target, good))
        choices = list(self._choose(good))
        tasks = [self._make_task(bag, choice) for bag, choice in zip(good, choices, strict=True)]
        model = self.predictor.model
        if self.has_labels:
            self._write_scores(tasks)
        written = draw_masks(self.target, tasks, model.settings, model.drawing, resources)
        rows = {
            task.record.name: _make_row(structs.replace(task.record, area=one.area), choice, one.shapes, one.problem)
            for task, choice, one in zip(tasks, choices, written, strict=True)
        }
        return [rows.get(bag.name) or make_problem(bag) for bag in bags]

    def _choose(self, good: Sequence[Bag]) -> Iterator[Choice]:
        model = self.predictor.model
        for bag in good:  # each by itself: sums are rounded alike, whatever other images are predicted
            shows = [bag.bag_label == WITH] if self.has_labels else None
            with explain_misfit():
                table, _ = gather_table(self.target, [bag], model.extractor, model.settings, model.standardiser)
                [choice] = self.predictor.choose(table, number_tubes(self.target, [bag]), shows)
            yield choice

    def _write_scores(self, tasks: Sequence[WriteTask]) -> None:
        for task in tasks:
            own, path = task.selection, self.target.scores_path(task.record.features)
            write_arrays(path, False, scores=own.scores, thresholds=own.thresholds, selected=own.selected)

    def _make_task(self, bag: Bag, choice: Choice) -> WriteTask:
        record = record_bag(bag, self.stems[bag.name], choice.selection, choice.areas)
        if not self.has_labels:
            record = structs.replace(record, bag_label=WITH if choice.contains else WITHOUT)
        elif choice.contains:
            record = structs.replace(record, uncertainty=round(1 - choice.probability, 6))
        return WriteTask(record, bag.path, choice.selection, choice.heat)


def _make_row(record: BagRecord, made: Choice, shapes: Sequence[Sequence[Shape]], problem: str) -> Row:
    figures = made.contains, made.unlike, made.probability, made.p_value, made.score, record.area
    return Row(record.name, record.stem, *figures, problem, [list(one) for one in shapes], record)


def make_problem(bag: Bag) -> Row:
    """The row of an image that cannot be read."""
    return Row(bag.name, *_NOTHING, bag.problem)


def make_failed(bag: Bag, problem: str) -> FailedRow:
    """The row of an image for which a store failed."""
    return FailedRow(bag.name, *_NOTHING, problem)


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


# Shards ---------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Shards:
    """The shards of one command."""

    run: RunFolder
    folder: Path
    format: str  # a name of `segvote.io.shards.SHARDS`
    key: str  # of the model, see `make_model_key`

    def predict(
        self,
        blocks: Sequence[Sequence[Bag]],
        work: Callable[[Sequence[Bag], Resources], list[Row]],
        describe: Callable[[Bag], Any],
        resources: Resources,
    ) -> Iterator[list[Row]]:
        """Yield the rows of each block; finished blocks are read, the others made by `work`, one after the other.

        `describe` names the content of an image, without reading it: a block with another content is made again.
        """

        def work_on_all(missing: Sequence[Sequence[Bag]]) -> Iterator[list[Row]]:
            done, total = 0, sum(map(len, missing))
            for block in missing:
                rows = work(block, replace(resources, progress=_shift(resources.progress, done, total)))
                done += len(block)
                resources.progress(STEP, done, total)
                yield rows

        return self.fill(blocks, work_on_all, describe, resources)

    def fill(
        self,
        blocks: Sequence[Sequence[Bag]],
        work: Callable[[Sequence[Sequence[Bag]]], Iterator[list[Row]]],
        describe: Callable[[Bag], Any],
        resources: Resources,
    ) -> Iterator[list[Row]]:
        """As `predict`; `work` gets all blocks that have no shard, and yields their rows in order."""
        paths = [self._name(number, block, describe) for number, block in enumerate(blocks)]
        known = [path.is_file() for path in paths]
        made = work([block for block, is_known in zip(blocks, known, strict=True) if not is_known])
        for path, block, is_known in zip(paths, blocks, known, strict=True):
            rows = self._find(path, block) if is_known else None
            if rows is None:
                rows = next(work([block]) if is_known else made)
                self._write(path, rows, resources)
            yield rows
        self._remove_others(paths)

    def _write(self, path: Path, rows: Sequence[Row], resources: Resources) -> None:
        """Write a shard, unless the next command has to predict some of its images again."""
        if not any(row.is_passing for row in rows):
            write_shard(path, [to_builtins(row) for row in rows])
            resources.send([path])

    def _name(self, number: int, block: Sequence[Bag], describe: Callable[[Bag], Any]) -> Path:
        key = make_key(model=self.key, images=[describe(bag) for bag in block])
        return self.folder / f"part-{number:06d}-{key[:16]}.{self.format}"

    def _find(self, path: Path, block: Sequence[Bag]) -> list[Row] | None:
        """The rows of a finished block; None where they, or masks of them, are missing or damaged."""
        if not path.is_file():
            return None
        with contextlib.suppress(DamagedFileError):
            rows: list[Row] = convert_record(read_shard(path), list[Row], path)
            stems = [row.stem for row in rows if row.record]
            files = [*map(self.run.mask_path, stems), *map(self.run.heatmap_path, stems)]
            if [row.name for row in rows] == [bag.name for bag in block] and all(one.is_file() for one in files):
                return rows
        return None

    def _remove_others(self, paths: Sequence[Path]) -> None:
        """Delete the shards of earlier commands on other images, or with another model."""
        for path in set(self.folder.glob("part-*")) - set(paths):
            path.unlink(missing_ok=True)


def _shift(progress: Progress, done: int, total: int) -> Progress:
    """Progress of a block as that of all blocks: images are counted as they are segmented, most of the work."""

    last = done

    def report(step: str, n_done: int, _: int) -> None:
        nonlocal last
        last = max(last, min(done + n_done, total)) if step == EXTRACT else last
        progress(STEP, last, total)

    return report


def list_blocks(bags: Sequence[Bag]) -> list[Sequence[Bag]]:
    """Bags in blocks of `N_IMAGES`."""
    return [bags[start : start + N_IMAGES] for start in range(0, len(bags), N_IMAGES)]


def make_model_key(predictor: Predictor, **more: Any) -> str:
    """Key of all that a prediction depends on beside the image."""
    model = predictor.model
    arrays = {name: hashlib.sha256(array.tobytes()).hexdigest() for name, array in model.arrays.items()}
    return make_key(
        version=(__version__, SEGMENTS_VERSION, FEATURES_VERSION),
        settings=model.settings.to_dict(),
        features=model.extractor.get_key(),
        drawing=asdict(model.drawing),
        extent=model.extent,
        arrays=arrays,
        rate=predictor.false_positive_rate,
        **more,
    )
