"""The main job: two folders in, a run folder with masks out; and the same again with more images, or fewer.

The result of an update is that of a fresh run on the same images: the same keys name the same files, and every vote is
held anew.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from segvote.errors import BadInputError, SegvoteError
from segvote.io.stores import name_path_or_uri
from segvote.run.bags import Bag, list_bags
from segvote.run.inputs import Inputs
from segvote.run.run import Run
from segvote.run.run_folder import RunFolder
from segvote.run.settings import Settings, read_settings
from segvote.steps.extract import make_segments_key
from segvote.steps.job import Job
from segvote.steps.label_maps import LabelMaps
from segvote.steps.workers import Resources
from segvote.types import WITH, WITHOUT

PENDING = "pending"  # in the record of a run: inputs of an update that is under way


def annotate_folders(
    with_folder: Path | str,
    without_folder: Path | str,
    out: Path | str,
    settings: Settings,
    resources: Resources = Resources(),
    segments: Path | str | None = None,
    strict: bool = False,
) -> Run:
    """Find the object that the images of one folder show and those of the other do not; see `segvote.annotate`."""
    run, folders = RunFolder(out), {WITH: Path(with_folder), WITHOUT: Path(without_folder)}
    inputs = Inputs(name_path_or_uri(folders[WITH]), name_path_or_uri(folders[WITHOUT]))
    job = Job(run, inputs, settings, resources, LabelMaps.open(segments), strict)
    _check_owner(run, inputs)
    bags = list_bags(folders[WITH], folders[WITHOUT], settings.frames, settings.reading)
    with run.lock():
        _check_owner(run, inputs)  # again: another process may have begun there meanwhile
        return job.carry_out(bags)


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


def update_run(
    folder: Path | str,
    resources: Resources = Resources(),
    added: Mapping[str, Iterable[Path | str]] | None = None,
    remove: Iterable[str] = (),
    restore: Iterable[str] = (),
    segments: Path | str | None = None,
    strict: bool = False,
) -> Run:
    """Add folders by bag label, or remove and restore images by name; see `segvote.update`."""
    run = RunFolder(folder)
    run.read_record()  # what is no run folder is refused before a lock is put into it
    with run.lock():
        record = run.read_record()
        settings = read_settings(record["settings"], run.record_path)
        inputs = _change_inputs(record, settings, added or {}, remove, restore)
        bags = inputs.list_bags(settings.frames, settings.reading)
        if segments is None:
            _check_own_segments(record["bags"], bags, settings)
        with _record_pending(run, record, inputs):
            return Job(run, inputs, settings, resources, LabelMaps.open(segments), strict).carry_out(bags)


def _change_inputs(
    record: dict[str, Any],
    settings: Settings,
    added: Mapping[str, Iterable[Path | str]],
    remove: Iterable[str],
    restore: Iterable[str],
) -> Inputs:
    """The inputs of the run after the change."""
    inputs, how = Inputs.from_record(record.get(PENDING) or record["inputs"]), (settings.frames, settings.reading)
    _check_two_folders(inputs)
    for bag_label, folders in added.items():
        for one in folders:
            inputs = inputs.add(bag_label, Path(one), *how)
    return inputs.restore(restore, *how).remove(remove, *how)


@contextlib.contextmanager
def _record_pending(folder: RunFolder, record: dict[str, Any], inputs: Inputs) -> Iterator[None]:
    """Record the new inputs before work begins, so that a killed update is continued; drop them where it fails."""
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
