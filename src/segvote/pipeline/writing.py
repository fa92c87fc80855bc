"""From verdict to files: masks, heat maps, the COCO file, the votes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from segvote.errors import UnreadableImageError
from segvote.io.arrays import read_arrays, write_arrays
from segvote.io.exports.base import ExportOptions
from segvote.io.exports.coco import write_coco_file
from segvote.io.images import read_image, resize_image, resize_labels
from segvote.io.masks import read_mask, write_mask
from segvote.io.overlays import blend_heat, write_jpeg
from segvote.io.run_folder import RunFolder, name_stems
from segvote.io.videos import list_video_files
from segvote.pipeline.describing import Described
from segvote.pipeline.drawing import draw_mask_along
from segvote.pipeline.pieces import CutImage, fetch_pieces, get_pieces_path
from segvote.pipeline.progress import Progress, count_along
from segvote.pipeline.run import BagRecord, make_annotation
from segvote.pipeline.settings import Settings
from segvote.pipeline.table import Table
from segvote.pipeline.video_frames import list_frame_files
from segvote.pipeline.video_writing import list_frame_annotations, write_video
from segvote.pipeline.voting_step import Verdict
from segvote.pipeline.workers import run_on_all
from segvote.refine import measure_doubt, scale_heat
from segvote.types import WITH

__all__ = ["MaskWriter", "WriteTask", "record_bag", "write_annotations", "write_results"]

# Longest side of heat-map pictures: enough to judge them, small enough for hundreds.
HEATMAP_SIZE = 640


@dataclass(frozen=True)
class WriteTask:
    """All that one bag's files are made of; sent to a worker process."""

    record: BagRecord
    image_path: Path
    heat: np.ndarray
    decisions: np.ndarray
    fixed: np.ndarray


def write_results(
    run: RunFolder,
    bags: Sequence[Described],
    table: Table,
    verdict: Verdict,
    settings: Settings,
    n_jobs: int,
    progress: Progress,
) -> list[BagRecord]:
    """Write everything that follows from the verdict; returns what `run.json` keeps of each bag."""
    names = ("scores", "votes", "weights", "decisions", "thresholds", "elected")
    arrays = {name: getattr(verdict, name) for name in names}
    write_arrays(run.votes_path, False, **{name: array for name, array in arrays.items() if array is not None})
    tasks = _list_tasks(bags, table, verdict)
    writer = MaskWriter(run, settings)
    written = count_along(run_on_all(writer, tasks, n_jobs), "write masks", len(tasks), progress)
    records = [replace(task.record, area=area) for task, area in zip(tasks, written, strict=True)]
    write_annotations(run, tasks, records, settings.label)
    return records


class MaskWriter:
    """Writes the mask and the heat map of one bag; returns the share of the image the mask covers."""

    def __init__(self, run: RunFolder, settings: Settings) -> None:
        self.run, self.settings = run, settings

    def __call__(self, task: WriteTask) -> float:
        record = task.record
        if record.n_frames:
            return write_video(self.run, task, self.settings)
        labels = read_arrays(self.run.segments_path(record.segments))["labels"]
        image = read_image(task.image_path)
        if image.shape[:2] != (record.height, record.width):
            raise UnreadableImageError(f"{task.image_path}: changed since it was described; repeat the command")
        mask = draw_mask_along(
            self._fetch_pieces(task, labels, image), labels, task.heat, task.decisions, task.fixed, image.shape[:2]
        )
        write_mask(self.run.mask_path(record.stem), mask, durable=False)
        picture = resize_image(image, HEATMAP_SIZE)
        heat = resize_labels(task.heat[labels], picture.shape[:2])
        write_jpeg(self.run.heatmap_path(record.stem), blend_heat(picture, heat))
        return round(float(mask.mean()), 6)

    def list_files(self, task: WriteTask) -> list[Path]:
        """All files that are read for a bag."""
        segments, run = task.record.segments, self.run
        kept = [run.segments_path(segments), get_pieces_path(run, segments, self.settings.n_pieces)]
        frames = list_frame_files(run, segments) if task.record.n_frames else []
        return [*list_video_files(task.image_path), *kept, *frames]

    def move(self, find: Callable[[Path], Path]) -> MaskWriter:
        """The same for a run folder that lies elsewhere."""
        return MaskWriter(RunFolder(find(self.run.path)), self.settings)

    def _fetch_pieces(self, task: WriteTask, labels: np.ndarray, image: np.ndarray) -> CutImage | None:
        if not (self.settings.n_pieces and task.decisions.any()):
            return None
        return fetch_pieces(self.run, task.record.segments, self.settings.n_pieces, labels, lambda: image)


def _list_tasks(bags: Sequence[Described], table: Table, verdict: Verdict) -> list[WriteTask]:
    stems = name_stems([bag.bag.name for bag in bags])
    scores, decisions, areas, fixed = (
        table.split(values) for values in (verdict.scores, verdict.decisions, table.areas, verdict.fixed)
    )
    top = max(float(values.max()) for values in scores)
    tasks = []
    for index, bag in enumerate(bags):
        record = record_bag(
            bag, stems[bag.bag.name], scores[index], decisions[index], areas[index], verdict.thresholds[index]
        )
        if verdict.muted is not None:
            record = replace(record, muted=bool(verdict.muted[index]))
        # A *with* image is shown on its own scale, a *without* image on that of the whole run: it should stay cold.
        high = float(scores[index].max()) if bag.bag.tag == WITH else top
        heat = scale_heat(scores[index], record.threshold, float(verdict.scores.min()), high)
        tasks.append(WriteTask(record, bag.bag.path, heat.astype(np.float32), decisions[index], fixed[index]))
    return tasks


def record_bag(
    bag: Described, stem: str, scores: np.ndarray, decisions: np.ndarray, areas: np.ndarray, threshold: float
) -> BagRecord:
    """What is kept of a bag once it is decided; the area of its mask is not known yet."""
    selected = decisions.any()
    score = np.average(scores[decisions], weights=areas[decisions]) if selected else scores.max()
    return BagRecord(
        name=bag.bag.name,
        tag=bag.bag.tag,
        stem=stem,
        digest=bag.bag.digest,
        segments=bag.segments_key,
        features=bag.features_key,
        height=bag.height,
        width=bag.width,
        n_segments=bag.n_segments,
        n_selected=int(decisions.sum()),
        n_frames=bag.n_frames,
        area=0.0,
        score=float(score),
        threshold=float(threshold),
        doubt=measure_doubt(scores, decisions, areas) if bag.bag.tag == WITH else 0.0,
    )


def write_annotations(run: RunFolder, tasks: Sequence[WriteTask], records: Sequence[BagRecord], label: str) -> None:
    """Write the COCO file of a run folder; masks are read one at a time."""

    def list_annotations() -> Iterator:
        for task, record in zip(tasks, records, strict=True):
            if record.n_frames:
                yield from list_frame_annotations(run, record, task.image_path, label)
                continue
            mask = read_mask(run.mask_path(record.stem)) == 255
            yield make_annotation(record, mask, label, None)

    write_coco_file(list_annotations(), run.coco_path, ExportOptions(labels=(label,)))
