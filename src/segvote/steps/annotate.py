"""`annotate`: two folders in, a run folder with masks out; `update`: the same after images were added or removed.

A killed run continues where it stopped, and a repeated run does nothing twice. An update gives the result of a new run
on the same images.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path

from segvote import __version__
from segvote.errors import BadInputError, DamagedFileError
from segvote.features import FeatureExtractor
from segvote.io.arrays import write_arrays
from segvote.io.stores import find_local_path, name_path_or_uri
from segvote.kernels import Neighbours
from segvote.run.bags import Bag, list_bags
from segvote.run.corrections import Corrections, make_result_key, move_bags, read_corrections
from segvote.run.output_names import remove_stale
from segvote.run.record import BagRecord, Inputs, Problem, describe_search, make_record
from segvote.run.run import Run
from segvote.run.run_folder import RunFolder
from segvote.run.settings import Settings, read_settings
from segvote.steps.drawing.choosing import fetch_drawing
from segvote.steps.extract import make_segments_key
from segvote.steps.label_maps import check_label_maps
from segvote.steps.looks import choose_look, list_levels
from segvote.steps.model import write_model
from segvote.steps.prepare import check_names, extract_bags, keep_readable, list_problems
from segvote.steps.reopening import Voted, apply_corrections, open_folder
from segvote.steps.vote import Held, fetch_neighbours, hold_vote, keep_neighbours, load_method
from segvote.steps.workers import Resources
from segvote.steps.write import list_tasks, write_pictures, write_votes


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
        check_owner(run, inputs)  # another process may have written to it meanwhile
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
    """Repeat a run on its folders and corrections as they are now; see `segvote.update`."""
    run = RunFolder(folder)
    run.read_record()  # refuse other folders before the lock file is created
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


class Job:
    """One call of `annotate` or `update`, on a run folder whose lock the caller holds; checks the settings first."""

    def __init__(
        self,
        run: RunFolder,
        inputs: Inputs,
        settings: Settings,
        resources: Resources,
        label_maps: Path | None = None,
        strict: bool = False,
    ) -> None:
        self.run, self.inputs, self.settings, self.resources = run, inputs, settings, resources
        self.label_maps, self.strict = label_maps, strict
        self.levels = [(level, check_names(level)) for level in list_levels(settings)]

    def carry_out(self, bags: Sequence[Bag]) -> Run:
        """Segment, extract features, vote, decide and write all bags, in their order."""
        if not self.run.record_path.exists():
            self.run.write_record(make_record(self.inputs, self.settings, ""))
        self.run.log(step="start", version=__version__, n_bags=len(bags), settings=self.settings.to_dict())
        corrections = read_corrections(self.run)
        bags = move_bags(bags, corrections)
        if not self._is_done(bags, corrections):
            load_method()
            _, (voted, neighbours, problems) = choose_look(self.levels, partial(self._vote, bags, corrections))
            if neighbours is not None:
                keep_neighbours(self.run, voted.opened.bags, voted.opened.settings, neighbours)
            write_run(voted, self.inputs, problems, self.resources)
        return Run(self.run.path)

    def _is_done(self, bags: Sequence[Bag], corrections: Corrections) -> bool:
        """Whether the folder holds the result of one of the levels."""
        record = self.run.read_record()
        for level, extractor in self.levels:
            if record.complete and record.inputs == self.inputs and record.settings == level.to_dict():
                found = extract_bags(self.run, bags, level, extractor, self.resources, self.label_maps)
                return is_done(self.run, make_result_key(level, keep_readable(found, self.strict), corrections))
        return False

    def _vote(
        self, bags: Sequence[Bag], corrections: Corrections, level: Settings, extractor: FeatureExtractor
    ) -> tuple[Held, tuple[Voted, Neighbours | None, list[Problem]]]:
        """The vote at one level of detail; the same with corrections, its neighbours, and images that were left out."""
        run, progress = self.run, self.resources.progress
        segmented = extract_bags(run, bags, level, extractor, self.resources, self.label_maps)
        good = keep_readable(segmented, self.strict)
        # With the requested settings, not those of the level: another command may have to continue.
        run.write_record(make_record(self.inputs, self.settings, make_result_key(level, good, corrections)))
        with run.time_step("gather"):
            opened = open_folder(run, level, extractor, good, corrections, resources=self.resources)
        with run.time_step("vote"):
            progress("vote", 0, 3)
            neighbours = fetch_neighbours(run, good, opened.table, level)
            progress("vote", 1, 3)
            held = hold_vote(opened.table, level, neighbours)
            progress("vote", 2, 3)
            voted = apply_corrections(opened, held)
            progress("vote", 3, 3)
        return held, (voted, neighbours, list_problems(segmented))


def is_done(run: RunFolder, key: str) -> bool:
    """Whether the run folder holds the result with this key, with all its masks and heat maps."""
    try:
        record = run.read_record()
    except (DamagedFileError, BadInputError):
        return False
    stems = [bag.stem for bag in record.bags]
    files = [run.votes_path, run.coco_path, *map(run.mask_path, stems), *map(run.heatmap_path, stems)]
    return record.complete and record.key == key and all(path.is_file() for path in files)


def write_run(voted: Voted, inputs: Inputs, problems: Sequence[Problem], resources: Resources) -> None:
    """Write masks, heat maps, COCO file, votes, model and record.

    The record on disk must be marked as not complete before: until the end its files are half old, half new.
    """
    opened, run, settings = voted.opened, voted.opened.folder, voted.opened.settings
    extent = opened.corrections.extent or settings.extent
    with run.time_step("write"):
        # Other extents are written from these without a vote.
        write_arrays(run.extents_path, False, **vars(voted.extents), scores=voted.vote.scores)
        write_votes(run, voted.decision)
        tasks = list_tasks(opened.bags, opened.table.areas, voted.decision, opened.corrections)
        drawing = fetch_drawing(run, tasks, settings, resources)
        records = write_pictures(run, tasks, settings, drawing, resources)
    with run.time_step("model"):
        write_model(voted, extent)
    remove_stale(run.path, [record.stem for record in records])
    confidence, bags = voted.held.confidence.to_dict(), opened.bags
    if voted.held.near_duplicates:
        confidence["near_duplicates"] = [[bags[i].name, bags[j].name] for i, j in voted.held.near_duplicates]
    found = {"search": describe_search(voted.held.recall), "confidence": confidence, "extent": extent}
    run.write_record(make_record(inputs, settings, opened.key, True, records, problems, **found))
