"""From the result of a vote to files: masks, heat maps, the COCO file, TIFF stacks, the votes."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
from msgspec.structs import replace

from segvote.errors import UnreadableImageError
from segvote.inputs.bags import Bag, Problem
from segvote.io.arrays import read_arrays, write_arrays
from segvote.io.exports.base import ExportOptions, split_part
from segvote.io.exports.coco import Shape, measure_shape, write_shapes
from segvote.io.files import atomic_path
from segvote.io.images import read_light, resize_labels
from segvote.io.masks import OBJECT, read_mask, write_mask
from segvote.io.names import encode_names
from segvote.io.overlays import count_degrees, paint_heat, write_jpeg
from segvote.io.picture_formats import split_name
from segvote.masks import Drawing, scale_heat
from segvote.pipeline.adopt import UNAPPLIED
from segvote.pipeline.drawing.images import draw_stored, embed_stored, get_embedding_path, is_refined
from segvote.pipeline.strokes import label_instances, lay_over
from segvote.pipeline.superpixels import get_superpixels_path
from segvote.pipeline.video.write import HEATMAP_SIZE, report_frames, write_video
from segvote.pipeline.workers import Resources, run_on_all
from segvote.run.correction_log import Action
from segvote.run.corrections import Corrections
from segvote.run.output_names import name_bags
from segvote.run.record import BagRecord
from segvote.run.run_folder import RunFolder
from segvote.run.videos import list_frame_images
from segvote.selection import Selection
from segvote.settings import Settings
from segvote.types import WITH, Annotation, Part


@dataclass(frozen=True)
class WriteTask:
    """The data for the files of one bag; sent to a worker process."""

    record: BagRecord
    image_path: Path
    selection: Selection  # of the bag
    heat: np.ndarray  # (n_segments,) float32 in [0, 1]
    strokes: Sequence[Action] = ()  # of the user; painted pixels override the mask
    divisions: Sequence[Action] = ()  # *cut* and *join* actions of the user


def write_votes(run: RunFolder, selection: Selection, votes: np.ndarray, weights: np.ndarray) -> None:
    """Write scores and selected segments, thresholds of the bags, and votes and weights of the default extent."""
    own = {name: getattr(selection, name) for name in ("scores", "selected", "thresholds")}
    write_arrays(run.votes_path, False, **own, votes=votes, weights=weights)


@dataclass(frozen=True)
class DrawnMask:
    """What the COCO file and the stacks need of a bag whose mask is written."""

    record: BagRecord
    image_path: Path
    shapes: Sequence[Sequence[Shape]]  # see `WrittenMask`


class OtherMasks(NamedTuple):
    """Names of bags that did not vote, and their masks, drawn as they are asked for."""

    names: Sequence[str]
    drawn: Iterable[DrawnMask]


NO_OTHERS = OtherMasks((), ())


def write_pictures(
    run: RunFolder,
    tasks: Sequence[WriteTask],
    settings: Settings,
    drawing: Drawing,
    resources: Resources,
    others: OtherMasks = NO_OTHERS,
) -> tuple[list[BagRecord], list[Problem]]:
    """Write masks, heat maps and the COCO file of them, and into that file those of `others`, which are drawn already.

    Returns the records with the areas of the masks, and the images that changed or vanished since they were segmented,
    whose masks are those of an earlier call.
    """
    written = draw_masks(run, tasks, settings, drawing, resources)
    pairs = list(zip(tasks, written, strict=True))
    drawn = (DrawnMask(replace(task.record, area=one.area), task.image_path, one.shapes) for task, one in pairs)
    names = [*(task.record.name for task in tasks), *others.names]
    records = write_annotations(run, names, itertools.chain(drawn, others.drawn), settings)[: len(tasks)]
    return records, [Problem(task.record.name, f"{one.problem}; {KEPT}") for task, one in pairs if one.problem]


def draw_masks(
    run: RunFolder, tasks: Sequence[WriteTask], settings: Settings, drawing: Drawing, resources: Resources
) -> list[WrittenMask]:
    """Write masks and heat maps."""
    writer = MaskWriter(run, settings, drawing)
    embed_images(run, tasks, drawing, resources)
    # Threads suffice for reading and writing pictures; processes take seconds to start.
    in_threads = not any(map(writer.is_long, tasks))
    with report_frames(run, tasks, resources.progress):
        return list(run_on_all(writer, tasks, resources, "write masks", in_threads))


def write_annotations(
    run: RunFolder, names: Iterable[str], drawn: Iterable[DrawnMask], settings: Settings
) -> list[BagRecord]:
    """Write the COCO file of masks as they come, and the stacks; returns their records. All bags have `names`."""
    records: list[BagRecord] = []
    outside = encode_names(names)

    def list_shapes() -> Iterator[tuple[Annotation, Sequence[Shape]]]:
        for one in drawn:
            records.append(one.record)
            yield from _list_shapes(run, one, outside)

    write_shapes(list_shapes(), run.coco_path, ExportOptions(labels=(settings.label,)))
    write_stacks(run, records)
    return records


# End of the reason of a problem with an image that changed or vanished since it was segmented.
KEPT = "its previous mask is kept; put the image back, or run `segvote update`"


def renew_problems(problems: Sequence[Problem], unwritten: Sequence[Problem], lost: Sequence[Problem]) -> list[Problem]:
    """Problems of a run whose masks were written again: those of reading stay, those of earlier writing go."""
    names = {problem.name for problem in lost}
    kept = [one for one in problems if not one.reason.endswith((KEPT, UNAPPLIED)) and one.name not in names]
    return [*kept, *unwritten, *lost]


def list_lost(run: RunFolder, corrections: Corrections) -> list[Problem]:
    """The actions of the correction log that are damaged, as a problem of the run."""
    name, numbers = run.corrections_path.name, ", ".join(map(str, corrections.lost))
    reason = f"{name}: expected whole actions, but these are damaged: {numbers}; repeat them if they are missed"
    return [Problem(name, reason)] if corrections.lost else []


class WrittenMask(NamedTuple):
    """What was written for one bag.

    `area` is the share of its pixels that the mask covers; `shapes` the COCO entries of the objects of the image, or of
    each frame of a video; `problem` the reason why an earlier mask was kept.
    """

    area: float
    shapes: tuple[tuple[Shape, ...], ...]
    problem: str = ""


def embed_images(run: RunFolder, tasks: Sequence[WriteTask], drawing: Drawing, resources: Resources) -> None:
    """Embeddings of the images that a refiner redraws, stored like features; those in the run folder are used again."""
    drawn = [task for task in tasks if not task.record.n_frames and task.selection.selected.any()]
    missing = [task for task in drawn if not get_embedding_path(run, task.record.segments, drawing).exists()]
    if missing and is_refined(drawing):
        with run.time_step("embed"):
            list(run_on_all(partial(_embed_task, run, drawing), missing, resources, "embed images"))


def _embed_task(run: RunFolder, drawing: Drawing, task: WriteTask) -> None:
    embed_stored(run, task.record.segments, task.image_path, drawing)


@dataclass(frozen=True, eq=False)
class MaskWriter:
    """Writes the mask and the heat map of one bag; keeps those of an image that cannot be read any more."""

    run: RunFolder
    settings: Settings
    drawing: Drawing

    def __call__(self, task: WriteTask) -> WrittenMask:
        if task.record.n_frames:
            area, shapes = write_video(self.run, task, self.settings)
            return WrittenMask(area, tuple((shape,) if shape else () for shape in shapes))
        try:
            return self._write_image(task)
        except UnreadableImageError as error:
            path, record = self.run.mask_path(task.record.stem), task.record
            if not path.is_file():
                raise
            mask = read_mask(path)
            if mask.shape != (record.height, record.width):
                raise
            return self._measure(mask == OBJECT, task.divisions, str(error))

    def _write_image(self, task: WriteTask) -> WrittenMask:
        record = task.record
        light, shape = read_light(task.image_path, HEATMAP_SIZE)
        if shape != (record.height, record.width):
            raise UnreadableImageError(
                f"{task.image_path}: expected {record.width} x {record.height} pixels as when it was segmented, got "
                f"{shape[1]} x {shape[0]}"
            )
        labels = read_arrays(self.run.segments_path(record.segments), ("labels",))["labels"]
        mask = draw_task(self.run, task, labels, self.drawing)
        write_mask(self.run.mask_path(record.stem), mask, durable=False)
        degrees = resize_labels(count_degrees(task.heat).take(labels), light.shape)
        write_jpeg(self.run.heatmap_path(record.stem), paint_heat(light, degrees))
        return self._measure(mask, task.divisions)

    def _measure(self, mask: np.ndarray, divisions: Sequence[Action], problem: str = "") -> WrittenMask:
        area, label = int(np.count_nonzero(mask)), self.settings.label
        instances = label_instances(mask, divisions, self.drawing.objects)
        parts = split_part(Part(label, mask, instances=instances))
        shapes = tuple(measure_shape(part, [label]) for part in parts)
        return WrittenMask(round(area / mask.size, 6), (shapes,), problem)

    def is_long(self, task: WriteTask) -> bool:
        """Whether a bag takes far longer than its pictures take to read and write: a video, or an outline to draw."""
        record = task.record
        if record.n_frames or self.drawing.way == "segments" or not task.selection.selected.any():
            return bool(record.n_frames)
        is_large = max(record.height, record.width) > self.settings.size
        return is_large or not get_superpixels_path(self.run, record.segments).exists()


def draw_task(run: RunFolder, task: WriteTask, labels: np.ndarray, drawing: Drawing) -> np.ndarray:
    """(h, w) bool: the mask of an image at its own size, by the label map of its segments."""
    shape = (task.record.height, task.record.width)
    arrays = task.selection, labels, task.heat
    drawn = draw_stored(run, task.record.segments, task.image_path, *arrays, drawing, max(shape))
    return lay_over(resize_labels(drawn, shape), task.strokes)


def list_tasks(
    bags: Sequence[Bag],
    areas: np.ndarray,
    selection: Selection,
    excluded: np.ndarray,
    corrections: Corrections,
    others: Sequence[Bag] = (),
) -> list[WriteTask]:
    """One task for each bag; areas (n_segments,) in pixels, excluded (n_bags,) bool. `others` did not vote."""
    stems, sizes = name_bags([*bags, *others]), np.split(areas, selection.offsets[1:-1])
    low, top = float(selection.scores.min()), float(selection.scores.max())
    tasks = []
    for index, bag in enumerate(bags):
        own = selection.take(index)
        record = record_bag(bag, stems[bag.name], own, sizes[index])
        record = replace(record, excluded=bool(excluded[index]), uncertainty=round(float(own.uncertainty[0]), 6))
        # A *with* image is shown on its own scale, a *without* image on that of the whole run.
        heat = scale_heat(own.scores, record.threshold, low, None if bag.bag_label == WITH else top).astype(np.float32)
        strokes, divisions = (of.get(bag.digest, ()) for of in (corrections.strokes, corrections.divisions))
        tasks.append(WriteTask(record, bag.path, own, heat, strokes, divisions))
    return tasks


def record_bag(bag: Bag, stem: str, selection: Selection, areas: np.ndarray) -> BagRecord:
    """The record of a bag with its selection; the area of its mask is filled in later."""
    scores, selected = selection.scores, selection.selected
    score = np.average(scores[selected], weights=areas[selected]) if selected.any() else scores.max()
    return BagRecord(
        name=bag.name,
        bag_label=bag.bag_label,
        stem=stem,
        digest=bag.digest,
        segments=bag.segments_key,
        features=bag.features_key,
        height=bag.height,
        width=bag.width,
        n_segments=bag.n_segments,
        n_selected=int(selected.sum()),
        n_frames=bag.n_frames,
        area=0.0,
        score=float(score),
        threshold=float(selection.thresholds[0]),
        uncertainty=0.0,
    )


def _list_shapes(
    run: RunFolder, one: DrawnMask, names: Mapping[str, str]
) -> Iterator[tuple[Annotation, Sequence[Shape]]]:
    """An image, or the frames of a video, with their entries of the COCO file."""
    record = one.record
    images = [Annotation(names[record.name], record.height, record.width)]
    if record.n_frames:
        images = [frame for _, frame in list_frame_images(run, record, one.image_path)]
    yield from zip(images, one.shapes, strict=True)


def write_stacks(run: RunFolder, records: Sequence[BagRecord]) -> None:
    """Write the masks of each stack as ``stacks/NAME.tif``, (n_pages, h, w) uint8; delete those of other stacks.

    A page that could not be read has an empty mask.
    """
    stacks: dict[Path, dict[int, BagRecord]] = {}
    for record in records:
        name, view = split_name(Path(record.name))
        if view.page.isdecimal() and not record.n_frames:
            stacks.setdefault(run.path / "stacks" / name, {})[int(view.page)] = record
    for path in (run.path / "stacks").rglob("*.tif*"):
        if path not in stacks:
            path.unlink()
    for target, pages in stacks.items():
        import tifffile  # slow to import, and only stacks need it

        first = next(iter(pages.values()))
        with atomic_path(target) as temporary, tifffile.TiffWriter(temporary) as file:
            for number in range(max(pages) + 1):
                mask = np.zeros((first.height, first.width), np.uint8)
                if number in pages:
                    mask = read_mask(run.mask_path(pages[number].stem))
                file.write(mask, photometric="minisblack", compression="zlib", contiguous=False, metadata=None)
