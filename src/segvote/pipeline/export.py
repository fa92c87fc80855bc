"""From a finished run to the files of another tool: its annotations, with pixels close to the threshold as unsure."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from segvote import __version__
from segvote.errors import BadInputError, BusyRunError, UnreadableImageError
from segvote.inputs.bags import Problem
from segvote.io import EXPORTS
from segvote.io.exports.base import ExportOptions
from segvote.io.files import remove_leftovers
from segvote.io.images import resize_labels
from segvote.io.names import encode_name, encode_names
from segvote.io.own_folders import mark_export, refuse_inside
from segvote.io.stores import find_local_path
from segvote.io.video.reading import hash_video
from segvote.pipeline.objects import divide_instances
from segvote.pipeline.strokes import Canvas
from segvote.pipeline.video.write import add_frame_pictures
from segvote.progress import Progress, count_along, ignore_progress
from segvote.run.classes import ClassRuns, open_any_run
from segvote.run.corrections import Corrections, read_written_corrections
from segvote.run.exported import add_exported, hash_mask
from segvote.run.record import BagRecord, ClassRecord
from segvote.run.run import Run
from segvote.types import WITH, Annotation


def ignore_problem(problem: Problem) -> None:
    """Name no image that is left out."""


def write_export(
    run: Run | ClassRuns | Path | str,
    format: str,
    folder: Path | str | None = None,
    options: ExportOptions = ExportOptions(()),
    label: str | None = None,
    overwrite: bool = False,
    on_problem: Callable[[Problem], None] = ignore_problem,
    progress: Progress = ignore_progress,
) -> Path:
    """Write the masks of a run in the format of another tool; see `segvote.export`.

    The labels and the version in the options are replaced by those of the run.
    """
    write = EXPORTS[format]
    opened = run if isinstance(run, Run | ClassRuns) else open_any_run(run)
    changed = find_changed(opened, options.images != "none")
    hashes: dict[str, str] = {}
    labels, annotations = _choose_annotations(opened, label, options, changed)
    bags: Sequence[BagRecord | ClassRecord] = opened.images if isinstance(opened, ClassRuns) else opened.all_bags
    names = encode_names((one.name for one in bags), foldable=options.images != "none")
    annotations = _note_hashes(annotations, hashes)
    annotations = (replace(one, name=names.get(one.name) or encode_name(one.name)) for one in annotations)
    divided = options.instances is not False
    options = replace(options, labels=labels, instances=divided, model_version=f"segvote {__version__}")
    target = opened.folder.path / "exports" / format if folder is None else Path(folder)
    if folder is not None:
        refuse_inside(target, _list_sources(opened))
    _prepare_target(target, overwrite)
    mark_export(target, format)
    n_annotations = sum(one.n_frames or 1 for index, one in enumerate(bags) if index not in changed)
    pictured = annotations if options.images == "none" else add_frame_pictures(annotations)
    written: Path = write(count_along(pictured, "export", n_annotations, progress), target, options)
    _check_unchanged(opened, target)
    if isinstance(opened, Run):
        add_exported(opened.folder, hashes)
    for problem in changed.values():
        on_problem(problem)
    return written


def _note_hashes(annotations: Iterable[Annotation], hashes: dict[str, str]) -> Iterator[Annotation]:
    """Note the hash of the mask of each image that passes, by its name."""
    for annotation in annotations:
        if not annotation.properties.get("video"):
            mask = np.zeros((annotation.height, annotation.width), bool)
            for part in annotation.parts:
                mask |= part.mask
            hashes[annotation.name] = hash_mask(mask)
        yield annotation


def find_changed(run: Run | ClassRuns, is_needed: bool) -> dict[int, Problem]:
    """Number to problem of each image whose file is not the one that was annotated, or is gone where it is needed."""
    one = run if isinstance(run, Run) else next(iter(run.runs.values()))
    names = [image.name for image in (run.all_bags if isinstance(run, Run) else run.images)]
    changed = {}
    for index, name in enumerate(names):
        if problem := _describe_change(one.find_source(index), one.all_bags[index].digest, is_needed):
            again = "run `segvote update`" if isinstance(run, Run) else "repeat `segvote annotate --classes`"
            changed[index] = Problem(name, f"{name}: {problem}; put it back, or {again}")
    if len(changed) == len(names):
        first = next(iter(changed.values()), None)
        raise BadInputError(f"none of the {len(names)} images is as it was annotated: {first and first.reason}")
    return changed


def _describe_change(path: Path, digest: str, is_needed: bool) -> str:
    try:
        return "" if hash_video(path) == digest else "the picture changed since it was annotated"
    except UnreadableImageError:
        return "the picture is gone" if is_needed else ""


def _check_unchanged(run: Run | ClassRuns, target: Path) -> None:
    """Raise where another command wrote a run while it was exported: some masks may be older than others."""
    for one in [run] if isinstance(run, Run) else run.runs.values():
        record = one.folder.read_record()
        if not record.complete or record.key != one.record.key:
            raise BusyRunError(
                f"{one.folder.path} was written again while it was exported: the masks in {target} are partly old; "
                "repeat the export with --overwrite"
            )


def _list_sources(run: Run | ClassRuns) -> list[Path]:
    """The folders of images of a run."""
    names = [run.record.input] if isinstance(run, ClassRuns) else [run.inputs.with_folder, run.inputs.without_folder]
    return [find_local_path(name) for name in names]


def _prepare_target(target: Path, overwrite: bool) -> None:
    """Refuse a file, and a folder that is not empty unless `overwrite`: it may hold an export corrected since."""
    if target.exists() and not target.is_dir():
        raise BadInputError(f"{target} is a file; -o wants a folder")
    if target.is_dir():
        if not overwrite and any(target.iterdir()):
            raise BadInputError(f"{target} is not empty; choose another -o folder, or --overwrite to write into it")
        remove_leftovers(target)  # of an export that was killed: training tools read hidden pictures too


def _choose_annotations(
    run: Run | ClassRuns, label: str | None, options: ExportOptions, left_out: Collection[int]
) -> tuple[tuple[str, ...], Iterator[Annotation]]:
    """The labels, and the annotations."""
    annotations = run.list_annotations(left_out)
    if options.instances is not False:
        annotations = divide_instances(run, annotations, within=bool(options.instances))
    if isinstance(run, Run):
        name = run.settings.label if label is None else label
        return (name,), _label_annotations(run, annotations, name, options.unsure)
    if label is not None or options.unsure:
        raise BadInputError(
            "a run on several classes has their names and no unsure band; export without label and band"
        )
    return run.names, annotations


def _label_annotations(run: Run, annotations: Iterable[Annotation], label: str, band: float) -> Iterator[Annotation]:
    corrections = read_written_corrections(run)
    numbers = {bag.name: index for index, bag in enumerate(run.all_bags) if bag.bag_label == WITH and not bag.n_frames}
    for annotation in annotations:
        parts = tuple(replace(part, label=label) for part in annotation.parts)
        index = numbers.get(annotation.name)
        unsure = _draw_unsure(run, index, band, corrections) if band and index is not None else None
        yield replace(annotation, parts=parts, unsure=unsure)


def _draw_unsure(run: Run, index: int, band: float, corrections: Corrections) -> np.ndarray:
    """(h, w) bool: segments with a score close to the threshold, by a share of the image's range of scores."""
    bag, labels, scores = run.all_bags[index], run.read_segments(index)["labels"], run.read_scores(index)
    unsure = np.abs(scores - bag.threshold) <= band * (scores.max() - scores.min())
    strokes = corrections.strokes.get(bag.digest, ())
    if strokes:  # a user label is sure
        unsure &= Canvas(labels.shape, strokes).label_segments(labels) < 0
    size = (bag.height, bag.width)
    return resize_labels(unsure[labels], size) & ~Canvas(size, strokes).exact
