"""Another extent for a finished run: another level of the nested selections of its vote, without a new vote."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from pathlib import Path

import numpy as np
from msgspec import structs

from segvote.errors import BadInputError, DamagedFileError
from segvote.inputs.bags import Bag
from segvote.io.arrays import read_arrays
from segvote.method.extents import N_EXTENTS, Extents, apply_extents
from segvote.pipeline.adopt import list_unapplied
from segvote.pipeline.annotate import update_run
from segvote.pipeline.opening import list_other_bags, list_run_bags, make_run_key
from segvote.pipeline.others import Others
from segvote.pipeline.user_labels import label_segments
from segvote.pipeline.workers import Resources
from segvote.pipeline.write import draw_task, list_lost, list_tasks, renew_problems, write_pictures, write_votes
from segvote.run.correction_log import Action, CorrectionLog
from segvote.run.corrections import Corrections, read_corrections
from segvote.run.model_file import write_model_extent
from segvote.run.record import make_record
from segvote.run.run import Run
from segvote.run.run_folder import RunFolder
from segvote.selection import DEFAULT_EXTENT, Selection, make_unknown_labels
from segvote.types import WITH


def change_extent(run: Run | Path | str, level: int, image: str = "", resources: Resources = Resources()) -> Run:
    """Choose an extent for all images, or one, and rewrite the files; see `segvote.set_extent`.

    The choice is an action of the run's log of corrections: it can be undone on the review page, and later commands
    follow it. Corrections that were not voted on yet take part.
    """
    check_extent(level)
    folder = run.folder if isinstance(run, Run) else RunFolder(run)
    if not folder.read_record().complete:
        # Files of a killed command are half old, half new; an update finishes them.
        run = update_run(folder.path, resources)
    run = run if isinstance(run, Run) else Run(run)
    run.check_images()
    index = run.find_any(image) if image else 0
    digest = run.all_bags[index].digest if image else ""
    with folder.lock():
        corrections = read_corrections(folder)
        is_current = run.record.key == make_run_key(run, corrections)
        is_chosen = corrections.extent == level and not corrections.extents
        if image:
            is_chosen = corrections.extents.get(digest) == level
        # A repeated command is one choice: one undo takes it back.
        if not is_chosen:
            with closing(CorrectionLog(folder.corrections_path)) as log:
                log.append(Action("extent", digest, image, level))
        elif is_current:
            return run
        # An image that did not vote does so with an extent of its own.
        if is_current and index < len(run) and not any(bag.n_frames for bag in run.bags):
            _rewrite(run, read_corrections(folder), resources)
            return Run(folder.path)
    return update_run(folder.path, resources)


def check_extent(level: int) -> int:
    """Refuse a number that is no level; returns the level."""
    if not 1 <= level <= N_EXTENTS:
        raise BadInputError(f"expected an extent from 1 (tightest) to {N_EXTENTS} (widest); got {level}")
    return level


def read_selection(run: Run, levels: np.ndarray, user_labels: np.ndarray | None) -> Selection:
    """The selection of a run of images at the level (n_bags,) of each, with user labels (n_segments,)."""
    if any(bag.n_frames for bag in run.bags):
        raise BadInputError("extents of videos are drawn by `segvote extent RUN LEVEL`, for all of their frames")
    path, n_segments = run.folder.extents_path, int(run.offsets[-1])
    arrays = read_arrays(path)
    if arrays.keys() != {"levels", "thresholds", "shares", "scores"} or len(arrays["levels"]) != n_segments:
        raise DamagedFileError(f"{path} does not belong to this run.json; annotate again")
    extents = Extents(arrays["levels"], arrays["thresholds"], arrays["shares"])
    default = Selection(
        offsets=run.offsets,
        unsmoothed=run.votes["votes"],
        scores=arrays["scores"],
        selected=extents.select(DEFAULT_EXTENT),
        user_labels=make_unknown_labels(n_segments) if user_labels is None else user_labels,
        thresholds=extents.thresholds[DEFAULT_EXTENT - 1],
        uncertainty=np.array([bag.uncertainty for bag in run.bags]),
        empty=np.array([bag.bag_label == WITH and not bag.n_selected for bag in run.bags]),
        extent=np.full(len(run), DEFAULT_EXTENT),
    )
    return apply_extents(default, extents, levels)


def list_selections(run: Run) -> np.ndarray:
    """(N_EXTENTS, n_segments) bool: the selection of each level; none for videos and where levels were not stored."""
    if any(bag.n_frames for bag in run.bags) or not run.folder.extents_path.is_file():
        return np.empty((0, int(run.offsets[-1])), bool)
    levels = range(1, N_EXTENTS + 1)
    return np.array([read_selection(run, np.full(len(run), level), None).selected for level in levels])


def draw_extent(run: Run, index: int, level: int) -> np.ndarray:
    """(h, w) bool: the mask of an image of a run at another level, with its painted pixels and user labels."""
    corrections = read_corrections(run.folder)
    bags = list_run_bags(run, corrections)
    selection = _select(run, bags, replace(corrections, extent=check_extent(level), extents={}))
    return draw_selection(run, index, selection, corrections)


def draw_selection(run: Run, index: int, selection: Selection, corrections: Corrections) -> np.ndarray:
    """(h, w) bool: the mask of an image of a run by another selection of all segments, with its painted pixels."""
    bags = list_run_bags(run, corrections)
    task = list_tasks(bags, _read_areas(run), selection, _list_excluded(run), corrections)[index]
    return draw_task(run.folder, task, run.read_segments(index)["labels"], run.drawing)


def _rewrite(run: Run, corrections: Corrections, resources: Resources) -> None:
    """Masks, heat maps, COCO file, votes and record at the current levels, from the files of the run folder."""
    folder, settings, record = run.folder, run.settings, run.record
    bags = list_run_bags(run, corrections)
    key, extent = make_run_key(run, corrections), corrections.extent or settings.extent
    selection = _select(run, bags, corrections)
    # Not complete while its files are half old, half new; `annotate` finishes a killed command.
    pending = make_record(record.inputs, settings, key, bags=record.bags)
    folder.write_record(structs.replace(pending, vote_on=record.vote_on, predicted=record.predicted))
    write_votes(folder, selection, run.votes["votes"], run.votes["weights"])
    others = list_other_bags(run, corrections)
    tasks = list_tasks(bags, _read_areas(run), selection, _list_excluded(run), corrections, others)
    write_model_extent(folder, extent)
    predicted = Others(folder, bags, others, resources)
    records, unwritten = write_pictures(folder, tasks, settings, run.drawing, resources, predicted.masks)
    lost = [*list_lost(folder, corrections), *list_unapplied(folder, corrections, bags)]
    problems = renew_problems(record.problems, [*unwritten, *predicted.problems], lost)
    followed = {"corrections": corrections.digest, "n_actions": corrections.last, "predicted": tuple(predicted.records)}
    folder.write_record(structs.replace(record, key=key, bags=records, extent=extent, problems=problems, **followed))


def _read_areas(run: Run) -> np.ndarray:
    paths = [run.folder.segments_path(bag.segments) for bag in run.bags]
    return np.concatenate([read_arrays(path, ("areas",))["areas"] for path in paths])


def _list_excluded(run: Run) -> np.ndarray:
    """(n_bags,) bool: bags that did not vote."""
    return np.array([bag.excluded for bag in run.bags])


def _select(run: Run, bags: list[Bag], corrections: Corrections) -> Selection:
    """The selection at the levels of the corrections, with their user labels."""
    user_labels, _, finished = label_segments(run.folder, bags, corrections)
    if finished is not None:
        clicked = np.full(len(finished), -1, dtype=np.int8) if user_labels is None else user_labels
        user_labels = np.where(np.isnan(finished), clicked, finished > 0.5).astype(np.int8)
    levels = corrections.list_extents([bag.digest for bag in run.bags], run.settings.extent)
    return read_selection(run, levels, user_labels)
