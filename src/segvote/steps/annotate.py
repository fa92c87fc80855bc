"""The main job: two folders in, a run folder with masks out; killed at any moment, it goes on where it was."""

from __future__ import annotations

from pathlib import Path

from segvote.errors import BadInputError
from segvote.io.stores import name_path_or_uri
from segvote.progress import Progress, ignore_progress
from segvote.run.bags import list_bags
from segvote.run.inputs import Inputs
from segvote.run.run import Run
from segvote.run.run_folder import RunFolder
from segvote.run.settings import Settings
from segvote.steps.job import annotate_bags
from segvote.steps.label_maps import LabelMaps
from segvote.steps.prepare import check_names
from segvote.steps.resources import N_JOBS, Resources
from segvote.types import WITH, WITHOUT


def annotate(
    with_folder: Path | str,
    without_folder: Path | str,
    out: Path | str,
    settings: Settings | None = None,
    *,
    segments: Path | str | None = None,
    n_jobs: int = N_JOBS,
    scheduler: str | None = None,
    strict: bool = False,
    progress: Progress = ignore_progress,
) -> Run:
    """Find the object that the images of one folder show and those of the other do not; see `segvote.annotate`."""
    settings, resources = settings or Settings(), Resources(n_jobs, scheduler)
    check_names(settings)
    folders = {WITH: Path(with_folder), WITHOUT: Path(without_folder)}
    run = RunFolder(out)
    inputs = Inputs(name_path_or_uri(folders[WITH]), name_path_or_uri(folders[WITHOUT]))
    _check_owner(run, inputs)
    bags = list_bags(folders[WITH], folders[WITHOUT], settings.frames, settings.reading)
    with run.lock():
        _check_owner(run, inputs)  # again: another process may have begun there meanwhile
        return annotate_bags(
            run, bags, inputs, settings, LabelMaps.open(segments), resources=resources, strict=strict, progress=progress
        )


def _check_owner(run: RunFolder, inputs: Inputs) -> None:
    if not run.is_claimed(run.record_path, "not a run folder"):
        return
    found = run.read_record().get("inputs", {})
    if isinstance(found, dict) and ("added" in found or "removed" in found):
        raise BadInputError(f"images were added to {run.path} or removed; go on with `segvote update {run.path}`")
    if found != inputs.to_record():
        raise BadInputError(
            f"{run.path} belongs to a run on {found.get(WITH)} and {found.get(WITHOUT)}; choose another -o folder"
        )
