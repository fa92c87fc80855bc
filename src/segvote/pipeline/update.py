"""`update`: a run repeated after images were added or removed, with its corrections.

An update gives the result of a new run on the same images.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from segvote.errors import BadInputError
from segvote.inputs.bags import Bag, list_bags
from segvote.inputs.label_maps import check_label_maps
from segvote.io.own_folders import refuse_inside
from segvote.io.stores import find_local_path, name_path_or_uri
from segvote.pipeline.annotate import Job
from segvote.pipeline.extract import make_segments_key
from segvote.pipeline.workers import Resources
from segvote.run.record import BagRecord, Inputs
from segvote.run.run import Run, format_command
from segvote.run.run_folder import RunFolder
from segvote.settings import Settings, read_settings


def update_run(
    folder: Path | str,
    resources: Resources = Resources(),
    segments: Path | str | None = None,
    strict: bool = False,
    with_folder: Path | str | None = None,
    without_folder: Path | str | None = None,
) -> Run:
    """Repeat a run on its folders and corrections as they are now; see `segvote.update`."""
    run = RunFolder(folder)
    run.read_record()  # refuse other folders before the lock file is created
    with run.lock():
        record = run.read_record()
        inputs = choose_inputs(record.inputs, with_folder, without_folder)
        settings = read_settings(record.settings, run.record_path)
        folders = find_local_path(inputs.with_folder), find_local_path(inputs.without_folder)
        if folders[1] in folders[0].parents:
            raise BadInputError(
                f"this is one class of a run on {inputs.without_folder}; put images into the folders there or take "
                "them out, and repeat `segvote annotate --classes`"
            )
        refuse_inside(run.path, folders)
        _check_folders(run, folders)
        if segments is None:
            _check_own_segments([*record.bags, *record.predicted], settings)
        job = Job(run, inputs, settings, resources, check_label_maps(segments), strict)
        return job.carry_out(job.list_stored(*folders) if resources.tasks else list_bags(*folders, settings))


def choose_inputs(known: Inputs, with_folder: Path | str | None, without_folder: Path | str | None) -> Inputs:
    """The folders of a run, or others in their place."""
    return Inputs(
        known.with_folder if with_folder is None else name_path_or_uri(with_folder),
        known.without_folder if without_folder is None else name_path_or_uri(without_folder),
    )


def _check_folders(run: RunFolder, folders: Sequence[Path]) -> None:
    missing = [str(folder) for folder in folders if not folder.is_dir()]
    if missing:
        command = format_command(run.path, "update", "--with", "NEW", "--without", "NEW")
        raise BadInputError(
            f"expected the images of the run, found no folder {' and '.join(missing)}; tell where they are: {command}"
        )


def _check_own_segments(records: Sequence[BagRecord], settings: Settings) -> None:
    """A run on a user's own label maps must not be mixed with other segments."""
    for record in records:
        bag = Bag(record.name, record.bag_label, Path(record.name), record.digest)
        if record.digest and not record.n_frames and record.segments != make_segments_key(bag, settings):
            raise BadInputError("this run was made on label maps of your own; give their folder with --segments")
