"""Another extent for a finished run: another of the nested selections of its vote, without a new vote."""

from __future__ import annotations

from contextlib import closing
from dataclasses import fields, replace
from pathlib import Path

import numpy as np
from msgspec import structs

from segvote.errors import BadInputError, DamagedFileError
from segvote.inputs.bags import Bag
from segvote.io.arrays import read_arrays
from segvote.method.extents import N_EXTENTS, Extents, apply_extents
from segvote.pipeline.opening import list_other_bags, list_run_bags, make_run_key
from segvote.pipeline.others import Others
from segvote.pipeline.update import update_run
from segvote.pipeline.user_labels import label_segments
from segvote.pipeline.workers import Resources
from segvote.pipeline.write import draw_task, list_tasks, write_votes
from segvote.pipeline.write_run import draw_record
from segvote.run.correction_log import Action, CorrectionLog
from segvote.run.corrections import Corrections, read_corrections
from segvote.run.model_file import write_model_extent
from segvote.run.record import make_record
from segvote.run.run import Run
from segvote.run.run_folder import RunFolder
from segvote.selection import DEFAULT_EXTENT, Selection, join_finished, make_unknown_labels
from segvote.types import WITH


def change_extent(run: Run | Path | str, extent: int, image: str = "", resources: Resources = Resources()) -> Run:
    """Choose an extent for all images, or one, and rewrite the files; see `segvote.set_extent`.

    The choice is an action of the run's log of corrections: it can be undone on the review page, and later commands
    follow it. Corrections that were not voted on yet take part.
    """
    check_extent(extent)
    run = finish_run(run, resources)
    run.check_images()
    folder = run.folder
    index = run.find_any(image) if image else 0
    digest = run.all_bags[index].digest if image else ""
    with folder.lock():
        before = read_corrections(folder)
        is_current = run.record.key == make_run_key(run, before)
        corrections = append_choice(folder, before, Action("extent", digest, image, extent))
        if is_current and corrections is before:
            return run
        # An image that did not vote does so with an extent of its own.
        if is_current and index < len(run) and not any(bag.n_frames for bag in run.bags):
            _rewrite(run, corrections, resources)
            return Run(folder.path)
    return update_run(folder.path, resources)


def finish_run(run: Run | Path | str, resources: Resources) -> Run:
    """A run, or the one in a folder, finished by an update: files of a killed command are half old, half new."""
    path = run.folder.path if isinstance(run, Run) else run
    return Run(path) if RunFolder(path).read_record().complete else update_run(path, resources)


def append_choice(folder: RunFolder, before: Corrections, choice: Action) -> Corrections:
    """The corrections of a run after a choice; `before` where it stands already, so that one undo takes it back."""
    if before.has_choice(choice):
        return before
    with closing(CorrectionLog(folder.corrections_path)) as log:
        log.append(choice)
    return read_corrections(folder)


def check_extent(extent: int) -> int:
    """Refuse a number that is no extent; returns the extent."""
    if not 1 <= extent <= N_EXTENTS:
        raise BadInputError(f"expected an extent from 1 (tightest) to {N_EXTENTS} (widest); got {extent}")
    return extent


def read_selection(run: Run, chosen: np.ndarray, user_labels: np.ndarray | None) -> Selection:
    """The selection of a run of images at the extent (n_bags,) of each, with user labels (n_segments,)."""
    if any(bag.n_frames for bag in run.bags):
        raise BadInputError("extents of videos are drawn by `segvote extent RUN EXTENT`, for all of their frames")
    path, names = run.folder.extents_path, [field.name for field in fields(Extents)]
    arrays = read_arrays(path)
    if arrays.keys() != {*names, "scores"} or len(arrays["scores"]) != run.offsets[-1]:
        raise DamagedFileError(f"{path} does not belong to this run.json; annotate again")
    extents, scores = Extents(*(arrays[name] for name in names)), arrays["scores"]
    selected, thresholds = extents.select(DEFAULT_EXTENT), extents.thresholds[DEFAULT_EXTENT - 1]
    default = make_run_selection(run, scores, selected, thresholds, run.votes["votes"], user_labels)
    return apply_extents(default, extents, chosen)


def make_run_selection(
    run: Run,
    scores: np.ndarray,
    selected: np.ndarray,
    thresholds: np.ndarray,
    unsmoothed: np.ndarray,
    user_labels: np.ndarray | None = None,
) -> Selection:
    """The selection of a run at the default extent; thresholds are (n_bags,), the other arrays (n_segments,)."""
    return Selection(
        offsets=run.offsets,
        unsmoothed=unsmoothed,
        scores=scores,
        selected=selected,
        user_labels=make_unknown_labels(len(scores)) if user_labels is None else user_labels,
        thresholds=thresholds,
        uncertainty=np.array([bag.uncertainty for bag in run.bags]),
        empty=np.array([bag.bag_label == WITH and not bag.n_selected for bag in run.bags]),
        extent=np.full(len(run), DEFAULT_EXTENT),
    )


def list_selections(run: Run) -> np.ndarray:
    """(N_EXTENTS, n_segments) bool: the selection of each extent; none for videos and where extents were not stored."""
    if any(bag.n_frames for bag in run.bags) or not run.folder.extents_path.is_file():
        return np.empty((0, int(run.offsets[-1])), bool)
    extents = range(1, N_EXTENTS + 1)
    return np.array([read_selection(run, np.full(len(run), extent), None).selected for extent in extents])


def draw_extent(run: Run, index: int, extent: int) -> np.ndarray:
    """(h, w) bool: the mask of an image of a run at another extent, with its painted pixels and user labels."""
    corrections = read_corrections(run.folder)
    bags = list_run_bags(run, corrections)
    selection = _select(run, bags, replace(corrections, extent=check_extent(extent), extents={}))
    return draw_selection(run, index, selection, corrections)


def draw_selection(run: Run, index: int, selection: Selection, corrections: Corrections) -> np.ndarray:
    """(h, w) bool: the mask of an image of a run by another selection of all segments, with its painted pixels."""
    bags = list_run_bags(run, corrections)
    task = list_tasks(bags, _read_areas(run), selection, _list_excluded(run), corrections)[index]
    return draw_task(run.folder, task, run.read_segments(index)["labels"], run.drawing)


def _rewrite(run: Run, corrections: Corrections, resources: Resources) -> None:
    """Masks, heat maps, COCO file, votes and record at the chosen extents, from the files of the run folder."""
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
    finished = structs.replace(record, key=key, extent=extent)
    folder.write_record(draw_record(finished, tasks, bags, predicted, corrections, run.drawing))


def _read_areas(run: Run) -> np.ndarray:
    paths = [run.folder.segments_path(bag.segments) for bag in run.bags]
    return np.concatenate([read_arrays(path, ("areas",))["areas"] for path in paths])


def _list_excluded(run: Run) -> np.ndarray:
    """(n_bags,) bool: bags that did not vote."""
    return np.array([bag.excluded for bag in run.bags])


def _select(run: Run, bags: list[Bag], corrections: Corrections) -> Selection:
    """The selection at the extents of the corrections, with their user labels."""
    user_labels, _, finished = label_segments(run.folder, bags, corrections)
    if finished is not None:
        clicked = make_unknown_labels(len(finished)) if user_labels is None else user_labels
        user_labels = join_finished(clicked, finished)
    chosen = corrections.list_extents([bag.digest for bag in run.bags], run.settings.extent)
    return read_selection(run, chosen, user_labels)
