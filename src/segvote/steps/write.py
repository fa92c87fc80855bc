"""From the result of a vote to files: masks, heat maps, the COCO file, TIFF stacks, the votes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from msgspec.structs import replace

from segvote.errors import UnreadableImageError
from segvote.io.arrays import read_arrays, write_arrays
from segvote.io.exports.base import ExportOptions
from segvote.io.exports.coco import Shape, measure_shape, write_shapes
from segvote.io.files import atomic_path
from segvote.io.images import read_light, resize_labels
from segvote.io.masks import read_mask, write_mask
from segvote.io.names import encode_names
from segvote.io.overlays import count_degrees, paint_heat, write_jpeg
from segvote.io.picture_formats import split_name
from segvote.masks import Decided, Drawing, scale_heat
from segvote.run.bags import Bag, name_bags
from segvote.run.correction_log import Action
from segvote.run.corrections import Corrections
from segvote.run.record import BagRecord
from segvote.run.run_folder import RunFolder
from segvote.run.settings import Settings
from segvote.run.strokes import lay_over
from segvote.run.videos import list_frame_images
from segvote.steps.drawing.superpixels import draw_stored, get_superpixels_path
from segvote.steps.video.write import HEATMAP_SIZE, report_frames, write_video
from segvote.steps.workers import Resources, run_on_all
from segvote.types import WITH, Annotation, Part


@dataclass(frozen=True)
class WriteTask:
    """The data for the files of one bag; sent to a worker process."""

    record: BagRecord
    image_path: Path
    heat: np.ndarray  # (n_segments,) float32 in [0, 1]
    decisions: np.ndarray  # (n_segments,) bool
    fixed: np.ndarray  # (n_segments,) user labels
    strokes: Sequence[Action] = ()  # of the user; painted pixels override the mask


@dataclass(frozen=True)
class Decision:
    """The data for the files of all bags, at the chosen extent."""

    scores: np.ndarray  # (n_segments,)
    selected: np.ndarray  # (n_segments,) bool
    user_labels: np.ndarray  # (n_segments,): -1 unknown, 0 background, 1 object
    votes: np.ndarray  # (n_segments,) at the default extent
    weights: np.ndarray  # (n_segments,) at the default extent
    thresholds: np.ndarray  # (n_bags,) score above which segments are object
    uncertainty: np.ndarray  # (n_bags,) in [0, 1]
    excluded: np.ndarray  # (n_bags,) bool


def write_votes(run: RunFolder, decision: Decision) -> None:
    """Write scores, votes, weights and decisions of all segments, and the thresholds of the bags."""
    arrays = {name: getattr(decision, name) for name in ("scores", "votes", "weights", "thresholds")}
    write_arrays(run.votes_path, False, **arrays, decisions=decision.selected)


def write_pictures(
    run: RunFolder, tasks: Sequence[WriteTask], settings: Settings, drawing: Drawing, resources: Resources
) -> list[BagRecord]:
    """Write masks, heat maps and the COCO file of them; returns the records with the areas of the masks."""
    writer = MaskWriter(run, settings, drawing)
    # Threads suffice for reading and writing pictures; processes take seconds to start.
    in_threads = not any(map(writer.is_long, tasks))
    with report_frames(run, tasks, resources.progress):
        written = list(run_on_all(writer, tasks, resources, "write masks", in_threads))
    records = [replace(task.record, area=area) for task, (area, _) in zip(tasks, written, strict=True)]
    shapes = _list_shapes(run, tasks, [shapes for _, shapes in written])
    write_shapes(shapes, run.coco_path, ExportOptions(labels=(settings.label,)))
    write_stacks(run, records)
    return records


class MaskWriter:
    """Writes the mask and the heat map of one bag.

    Returns the share of its pixels that the mask covers, and the COCO entry of the image, or of each frame of a video;
    None where the mask is empty.
    """

    def __init__(self, run: RunFolder, settings: Settings, drawing: Drawing) -> None:
        self.run, self.settings, self.drawing = run, settings, drawing

    def __call__(self, task: WriteTask) -> tuple[float, tuple[Shape | None, ...]]:
        record = task.record
        if record.n_frames:
            return write_video(self.run, task, self.settings)
        light, shape = read_light(task.image_path, HEATMAP_SIZE)
        if shape != (record.height, record.width):
            raise UnreadableImageError(f"{task.image_path}: changed since it was segmented; repeat the command")
        labels = read_arrays(self.run.segments_path(record.segments), ("labels",))["labels"]
        mask = draw_task(self.run, task, labels, self.drawing)
        write_mask(self.run.mask_path(record.stem), mask, durable=False)
        degrees = resize_labels(count_degrees(task.heat).take(labels), light.shape)  # type: ignore[arg-type]
        write_jpeg(self.run.heatmap_path(record.stem), paint_heat(light, degrees))
        area, label = int(np.count_nonzero(mask)), self.settings.label
        return round(area / mask.size, 6), (measure_shape(Part(label, mask), [label]) if area else None,)

    def is_long(self, task: WriteTask) -> bool:
        """Whether a bag takes far longer than its pictures take to read and write: a video, or an outline to draw."""
        record = task.record
        if record.n_frames or self.drawing.way == "segments" or not task.decisions.any():
            return bool(record.n_frames)
        is_large = max(record.height, record.width) > self.settings.size
        return is_large or not get_superpixels_path(self.run, record.segments).exists()


def draw_task(run: RunFolder, task: WriteTask, labels: np.ndarray, drawing: Drawing) -> np.ndarray:
    """(h, w) bool: the mask of an image at its own size, by the label map of its segments."""
    shape = (task.record.height, task.record.width)
    decided = Decided(labels, task.heat, task.decisions, task.fixed)
    drawn = draw_stored(run, task.record.segments, task.image_path, decided, drawing, max(shape))
    return lay_over(resize_labels(drawn, shape), task.strokes)


def list_tasks(bags: Sequence[Bag], areas: np.ndarray, decision: Decision, corrections: Corrections) -> list[WriteTask]:
    """One task for each bag; areas (n_segments,) in pixels."""
    stems, ends = name_bags(bags), np.cumsum([bag.n_segments for bag in bags])[:-1]
    scores, decisions, sizes, fixed = (
        np.split(values, ends) for values in (decision.scores, decision.selected, areas, decision.user_labels)
    )
    low, top = float(decision.scores.min()), max(float(values.max()) for values in scores)
    tasks = []
    for index, bag in enumerate(bags):
        threshold = float(decision.thresholds[index])
        record = record_bag(bag, stems[bag.name], scores[index], decisions[index], sizes[index], threshold)
        uncertainty = round(float(decision.uncertainty[index]), 6)
        record = replace(record, excluded=bool(decision.excluded[index]), uncertainty=uncertainty)
        # A *with* image is shown on its own scale, a *without* image on that of the whole run.
        high = float(scores[index].max()) if bag.bag_label == WITH else top
        heat = scale_heat(scores[index], threshold, low, high).astype(np.float32)
        strokes = tuple(corrections.strokes.get(bag.digest, ()))
        tasks.append(WriteTask(record, bag.path, heat, decisions[index], fixed[index], strokes))
    return tasks


def record_bag(
    bag: Bag, stem: str, scores: np.ndarray, decisions: np.ndarray, areas: np.ndarray, threshold: float
) -> BagRecord:
    """The record of a decided bag; the area of its mask is filled in later."""
    selected = decisions.any()
    score = np.average(scores[decisions], weights=areas[decisions]) if selected else scores.max()
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
        n_selected=int(decisions.sum()),
        n_frames=bag.n_frames,
        area=0.0,
        score=float(score),
        threshold=threshold,
        uncertainty=0.0,
    )


def _list_shapes(
    run: RunFolder, tasks: Sequence[WriteTask], shapes: Sequence[tuple[Shape | None, ...]]
) -> Iterator[tuple[Annotation, Sequence[Shape]]]:
    """Images, and frames of videos, with their entries of the COCO file."""
    names = encode_names(task.record.name for task in tasks)
    for task, known in zip(tasks, shapes, strict=True):
        record = task.record
        images = [Annotation(names[record.name], record.height, record.width)]
        if record.n_frames:
            images = [frame for _, frame in list_frame_images(run, record, task.image_path)]
        for image, shape in zip(images, known, strict=True):
            yield image, [shape] if shape else []


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
