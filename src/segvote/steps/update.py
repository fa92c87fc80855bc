"""More images, or fewer, without starting again: segments and features of the others are used as they are.

The result is that of a fresh run on the same images: the same keys name the same files, and every vote is held anew.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from segvote.errors import BadInputError, SegvoteError
from segvote.progress import Progress, ignore_progress
from segvote.run.bags import Bag
from segvote.run.inputs import Inputs
from segvote.run.run import Run
from segvote.run.run_folder import RunFolder
from segvote.run.settings import Settings, read_settings
from segvote.steps.extract import make_segments_key
from segvote.steps.job import annotate_bags
from segvote.steps.label_maps import LabelMaps
from segvote.steps.resources import N_JOBS, Resources
from segvote.types import WITH, WITHOUT

PENDING = "pending"  # in the record of a run: inputs of an update that is under way


def update(
    run: Run | Path | str,
    *,
    add_with: Iterable[Path | str] = (),
    add_without: Iterable[Path | str] = (),
    remove: Iterable[str] = (),
    restore: Iterable[str] = (),
    segments: Path | str | None = None,
    n_jobs: int = N_JOBS,
    scheduler: str | None = None,
    strict: bool = False,
    progress: Progress = ignore_progress,
) -> Run:
    """Add images to a run or take some out; without either, look again at its folders; see `segvote.update`."""
    resources = Resources(n_jobs, scheduler)
    folder = run.folder if isinstance(run, Run) else RunFolder(run)
    folder.read_record()  # what is no run folder is refused before a lock is put into it
    with folder.lock():
        record = folder.read_record()
        settings = read_settings(record["settings"], folder.record_path)
        inputs = _change_inputs(record, settings, {WITH: add_with, WITHOUT: add_without}, remove, restore)
        bags = inputs.list_bags(settings.frames, settings.reading)
        if segments is None:
            _check_own_segments(record["bags"], bags, settings)
        with _record_pending(folder, record, inputs):
            maps = LabelMaps.open(segments)
            return annotate_bags(
                folder, bags, inputs, settings, maps, resources=resources, strict=strict, progress=progress
            )


def _change_inputs(
    record: dict[str, Any],
    settings: Settings,
    added: Mapping[str, Iterable[Path | str]],
    remove: Iterable[str],
    restore: Iterable[str],
) -> Inputs:
    """What the run is to be made of; `added` is bag label to folders."""
    inputs = Inputs.from_record(record.get(PENDING) or record["inputs"])
    _check_two_folders(inputs)
    for bag_label, folders in added.items():
        for one in folders:
            inputs = inputs.add(bag_label, Path(one), settings.frames, settings.reading)
    how = (settings.frames, settings.reading)
    return inputs.restore(restore, *how).remove(remove, *how)


@contextlib.contextmanager
def _record_pending(folder: RunFolder, record: dict[str, Any], inputs: Inputs) -> Iterator[None]:
    """Note the change in the record before work begins, so that a killed update is continued; forget what failed."""
    if record["inputs"] != inputs.to_record():
        folder.write_record({**record, PENDING: inputs.to_record()})
    try:
        yield
    except SegvoteError:
        _forget(folder)
        raise
    _forget(folder)


def _forget(folder: RunFolder) -> None:
    record = folder.read_record()
    if record.pop(PENDING, None) is not None:
        folder.write_record(record)


def _check_two_folders(inputs: Inputs) -> None:
    if Path(inputs.folders[WITHOUT]) in Path(inputs.folders[WITH]).parents:
        raise BadInputError(
            f"this is one class of a run on {inputs.folders[WITHOUT]}; put images into the folders there or take them "
            "out, and repeat `segvote annotate --classes`"
        )


def _check_own_segments(records: Sequence[dict[str, Any]], bags: Sequence[Bag], settings: Settings) -> None:
    """A run on a user's own label maps must not be mixed with other segments."""
    known = {bag.digest: bag for bag in bags if bag.digest and not bag.is_video}
    for record in records:
        bag = known.get(record.get("digest", ""))
        if bag is not None and record.get("segments") != make_segments_key(bag, settings):
            raise BadInputError("this run was made on label maps of your own; give their folder with --segments")
