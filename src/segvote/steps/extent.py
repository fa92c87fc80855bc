"""Another extent for a finished run: the same vote at another level of its nested selections, no vote held again."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from segvote.errors import BadInputError, DamagedFileError
from segvote.io.arrays import read_arrays
from segvote.io.images import resize_labels
from segvote.masks import Decided
from segvote.method.extents import N_LEVELS, Extents, decide_levels
from segvote.method.table import apply_labels
from segvote.progress import Progress, ignore_progress
from segvote.run.bags import SegmentedImage
from segvote.run.correction_log import Action, CorrectionLog
from segvote.run.corrections import Corrections, fix_table, make_result_key, read_corrections
from segvote.run.record import make_record
from segvote.run.run import Run
from segvote.run.run_folder import RunFolder
from segvote.run.strokes import lay_over
from segvote.steps.drawing.superpixels import draw_stored
from segvote.steps.prediction.model import write_model_extent
from segvote.steps.reopening import list_segmented_images
from segvote.steps.resources import N_JOBS, Resources
from segvote.steps.update import update
from segvote.steps.write import Decision, list_tasks, write_pictures, write_votes


def change_extent(
    run: Run | Path | str, level: int, image: str = "", *, n_jobs: int = N_JOBS, progress: Progress = ignore_progress
) -> Run:
    """Choose an extent for all images, or one, and write the files anew.

    The choice is an action of the run's log of corrections: it can be undone on the review page, and every later
    command follows it. Where corrections wait to be voted on, they take part.

    Parameters
    ----------
    run : Run or path
        A finished run.
    level : int
        From 1, the most telling part, to `N_LEVELS`, the whole object.
    image : str
        Name of the image it is for; empty: all images.
    n_jobs, progress
        As for `annotate`.

    Returns
    -------
    Run
    """
    check_level(level)
    folder = run.folder if isinstance(run, Run) else RunFolder(run)
    if _is_interrupted(folder):
        # Its files are half old, half new: a vote finishes them.
        with folder.lock():
            digests = {bag["name"]: bag["digest"] for bag in folder.read_record()["bags"]}
            if image and image not in digests:
                raise BadInputError(f"expected the name of an image of {folder.path}; got {image!r}")
            _append(folder, Action("extent", digests.get(image, ""), image, level))
        return update(folder.path, n_jobs=n_jobs, progress=progress)
    run = run if isinstance(run, Run) else Run(run)
    digest = run.bags[run.find(image)].digest if image else ""
    with folder.lock():
        is_current = _name_result(run, read_corrections(folder)) == run.record.get("key")
        _append(folder, Action("extent", digest, image, level))
        if is_current and not any(bag.n_frames for bag in run.bags):
            _rewrite(run, read_corrections(folder), Resources(n_jobs), progress)
            return Run(folder.path)
    return update(run, n_jobs=n_jobs, progress=progress)


def _is_interrupted(folder: RunFolder) -> bool:
    """Whether an earlier change of the extent was killed: the record is not complete, but knows the images."""
    record = folder.read_record()
    return not record["complete"] and bool(record["bags"])


def check_level(level: int) -> int:
    """The level itself, if there is one of that number."""
    if not 1 <= level <= N_LEVELS:
        raise BadInputError(f"expected an extent from 1 (tightest) to {N_LEVELS} (widest); got {level}")
    return level


def read_extents(run: Run) -> tuple[Extents, np.ndarray]:
    """The nested selections of a run, and the scores (n_segments,) that they were found on."""
    path, n_segments = run.folder.extents_path, int(run.offsets[-1])
    arrays = read_arrays(path)
    if not {"levels", "thresholds", "shares", "scores"} <= arrays.keys() or len(arrays["levels"]) != n_segments:
        raise DamagedFileError(f"{path} does not belong to this run.json; annotate again")
    return Extents(arrays["levels"], arrays["thresholds"], arrays["shares"]), arrays["scores"]


def decide_extents(run: Run, levels: np.ndarray, user_labels: np.ndarray | None) -> tuple[np.ndarray, ...]:
    """Thresholds (n_bags,), scores and selection (n_segments,) of a run of images at the level (n_bags,) of each."""
    if any(bag.n_frames for bag in run.bags):
        raise BadInputError("extents of videos are drawn by `segvote extent RUN LEVEL`, for all of their frames")
    extents, scores = read_extents(run)
    images = np.repeat(np.arange(len(run)), np.diff(run.offsets))
    thresholds, raised, selected = decide_levels(extents, levels, scores, images)
    return thresholds, raised, selected if user_labels is None else apply_labels(selected, user_labels)


def draw_extent(run: Run, index: int, level: int) -> np.ndarray:
    """(h, w) bool: the mask of an image of a run at another level, painted pixels and user labels as they are."""
    corrections = read_corrections(run.folder)
    bags = list_segmented_images(run, corrections)
    decision = _decide(run, bags, replace(corrections, extent=check_level(level), extents={}))
    task = list_tasks(bags, _read_areas(run), decision, corrections)[index]
    labels = read_arrays(run.folder.segments_path(task.record.segments), ("labels",))["labels"]
    decided, shape = Decided(labels, task.heat, task.decisions, task.fixed), (task.record.height, task.record.width)
    drawn = draw_stored(run.folder, task.record.segments, run.find_image(index), decided, run.drawing, max(shape))
    return lay_over(resize_labels(drawn, shape), task.strokes)


def _append(folder: RunFolder, action: Action) -> None:
    log = CorrectionLog(folder.corrections_path)
    try:
        log.append(action)
    finally:
        log.close()


def _name_result(run: Run, corrections: Corrections) -> str:
    return make_result_key(run.settings, list_segmented_images(run, corrections), corrections)


def _rewrite(run: Run, corrections: Corrections, resources: Resources, progress: Progress) -> None:
    """Masks, heat maps, COCO file, votes and record at the levels of now, from what the run folder holds."""
    folder, settings, record = run.folder, run.settings, run.record
    bags = list_segmented_images(run, corrections)
    key, extent = make_result_key(settings, bags, corrections), corrections.extent or settings.extent
    decision = _decide(run, bags, corrections)
    # Not complete while its files are half old, half new: `annotate` would finish it.
    folder.write_record({**make_record(record["inputs"], settings, key, False), "bags": record["bags"]})
    write_votes(folder, decision)
    tasks = list_tasks(bags, _read_areas(run), decision, corrections)
    records = write_pictures(folder, tasks, settings, run.drawing, resources, progress)
    write_model_extent(folder, extent)
    written = make_record(
        record["inputs"],
        settings,
        key,
        True,
        records,
        record["problems"],
        record.get("search"),
        record.get("confidence"),
        run.drawing,
        extent,
    )
    folder.write_record(written)


def _read_areas(run: Run) -> np.ndarray:
    paths = [run.folder.segments_path(bag.segments) for bag in run.bags]
    return np.concatenate([read_arrays(path, ("areas",))["areas"] for path in paths])


def _decide(run: Run, bags: list[SegmentedImage], corrections: Corrections) -> Decision:
    user_labels = fix_table(run.folder, bags, corrections)
    levels = corrections.list_levels([bag.digest for bag in run.bags], run.settings.extent)
    thresholds, scores, selected = decide_extents(run, levels, user_labels)
    unknown = np.full(len(scores), -1, dtype=np.int8)
    return Decision(
        scores=scores,
        selected=selected,
        user_labels=unknown if user_labels is None else user_labels,
        votes=run.votes["votes"],
        weights=run.votes["weights"],
        thresholds=thresholds,
        uncertainty=np.array([bag.uncertainty for bag in run.bags]),
        excluded=np.array([bag.excluded for bag in run.bags]),
    )
