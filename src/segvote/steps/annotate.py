"""The main job: two folders in, a run folder with masks out; and the same again after images came or went.

The result of an update is that of a fresh run on the same images: the same keys name the same files, and every vote is
held anew.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from segvote.errors import BadInputError
from segvote.io.stores import find_local_path, name_path_or_uri
from segvote.run.bags import Bag, list_bags
from segvote.run.record import BagRecord, Inputs
from segvote.run.run import Run
from segvote.run.run_folder import RunFolder
from segvote.run.settings import Settings, read_settings
from segvote.steps.extract import make_segments_key
from segvote.steps.job import Job
from segvote.steps.label_maps import check_label_maps
from segvote.steps.workers import Resources


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
    run, inputs = RunFolder(out), Inputs(name_path_or_uri(with_folder), name_path_or_uri(without_folder))
    job = Job(run, inputs, settings, resources, check_label_maps(segments), strict)
    check_owner(run, inputs)
    bags = list_bags(Path(with_folder), Path(without_folder), settings)
    with run.lock():
        check_owner(run, inputs)  # again: another process may have begun there meanwhile
        return job.carry_out(bags)


def check_owner(run: RunFolder, inputs: Inputs) -> None:
    """Refuse a folder that holds something else, or a run on other inputs."""
    if not run.is_claimed(run.record_path, "not a run folder"):
        return
    found = run.read_record().inputs
    if found != inputs:
        raise BadInputError(
            f"{run.path} belongs to a run on {found.with_folder} and {found.without_folder}; choose another -o folder"
        )


def update_run(
    folder: Path | str,
    resources: Resources = Resources(),
    segments: Path | str | None = None,
    strict: bool = False,
) -> Run:
    """Look again at the folders and the corrections of a run; see `segvote.update`."""
    run = RunFolder(folder)
    run.read_record()  # what is no run folder is refused before a lock is put into it
    with run.lock():
        record = run.read_record()
        inputs, settings = record.inputs, read_settings(record.settings, run.record_path)
        folders = find_local_path(inputs.with_folder), find_local_path(inputs.without_folder)
        if folders[1] in folders[0].parents:
            raise BadInputError(
                f"this is one class of a run on {inputs.without_folder}; put images into the folders there or take "
                "them out, and repeat `segvote annotate --classes`"
            )
        bags = list_bags(*folders, settings)
        if segments is None:
            _check_own_segments(record.bags, bags, settings)
        return Job(run, inputs, settings, resources, check_label_maps(segments), strict).carry_out(bags)


def _check_own_segments(records: Sequence[BagRecord], bags: Sequence[Bag], settings: Settings) -> None:
    """A run on a user's own label maps must not be mixed with other segments."""
    known = {bag.digest: bag for bag in bags if bag.digest and not bag.is_video}
    for record in records:
        bag = known.get(record.digest)
        if bag is not None and record.segments != make_segments_key(bag, settings):
            raise BadInputError("this run was made on label maps of your own; give their folder with --segments")
