"""`annotate`: two folders in, a run folder with masks out; `update`: the same after images were added or removed.

A killed run continues where it stopped, and a repeated run does nothing twice. An update gives the result of a new run
on the same images.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import NamedTuple

import numpy as np
from msgspec import structs

from segvote import __version__
from segvote.errors import BadInputError, DamagedFileError
from segvote.features import FeatureExtractor
from segvote.inputs.bags import Bag, Problem, list_bags
from segvote.inputs.label_maps import check_label_maps
from segvote.io.arrays import write_arrays
from segvote.io.own_folders import refuse_inside
from segvote.io.stores import find_local_path, name_path_or_uri
from segvote.method.alternatives import is_rivalled, score_support
from segvote.numerics import Neighbours
from segvote.pipeline.adopt import adopt_corrections, list_orphans, list_unapplied
from segvote.pipeline.base_vote import BaseVote
from segvote.pipeline.corrected_vote import RunVote, apply_corrections
from segvote.pipeline.drawing.choosing import fetch_drawing
from segvote.pipeline.extract import make_segments_key
from segvote.pipeline.given_masks import MASKS, GivenMasks, append_masks
from segvote.pipeline.knn_cache import fetch_neighbours, keep_neighbours
from segvote.pipeline.lessons import estimate_others
from segvote.pipeline.looks import choose_look, list_looks
from segvote.pipeline.model import write_model
from segvote.pipeline.opening import open_folder
from segvote.pipeline.others import Others
from segvote.pipeline.prepare import (
    check_names,
    extract_bags,
    keep_good,
    keep_readable,
    list_and_extract,
    list_extracted,
    list_problems,
)
from segvote.pipeline.sample import limit_voters, parse_vote_on, split_bags
from segvote.pipeline.video.frames import join_frames
from segvote.pipeline.vote import hold_vote, load_method
from segvote.pipeline.workers import Resources
from segvote.pipeline.write import list_lost, list_tasks, renew_problems, write_pictures, write_votes
from segvote.run.advice import describe_confidence
from segvote.run.alternatives import NO_ALTERNATIVES, Alternatives, write_alternatives
from segvote.run.corrections import Corrections, make_result_key, move_bags, read_corrections
from segvote.run.output_names import remove_stale
from segvote.run.record import BagRecord, Inputs, RunRecord, describe_search, make_record
from segvote.run.run import Run, format_command
from segvote.run.run_folder import RunFolder, make_key
from segvote.settings import AUTO, Settings, read_settings


def annotate_folders(
    with_folder: Path | str,
    without_folder: Path | str,
    out: Path | str,
    settings: Settings,
    resources: Resources = Resources(),
    segments: Path | str | None = None,
    strict: bool = False,
    masks: GivenMasks | None = None,
) -> Run:
    """Find the object that the images of one folder show and those of the other do not; see `segvote.annotate`."""
    run, inputs = RunFolder(out), Inputs(name_path_or_uri(with_folder), name_path_or_uri(without_folder))
    job = Job(run, inputs, settings, resources, check_label_maps(segments), strict)
    refuse_inside(out, [with_folder, without_folder])
    check_owner(run, inputs)
    folders = Path(with_folder), Path(without_folder)
    bags = None if resources.tasks else list_bags(*folders, settings)
    with run.lock():
        check_owner(run, inputs)  # another process may have written to it meanwhile
        bags = job.list_stored(*folders) if bags is None else bags
        return job.carry_out(bags) if masks is None else job.carry_out_with_masks(bags, masks)


def check_owner(run: RunFolder, inputs: Inputs) -> None:
    """Refuse a folder that holds something else, or a run on other inputs."""
    if not run.is_claimed(run.record_path, "not a run folder"):
        return
    known = run.read_record().inputs
    if known != inputs:
        raise BadInputError(
            f"{run.path} belongs to a run on {known.with_folder} and {known.without_folder}; choose another -o folder"
        )


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
        bags = list_bags(*folders, settings)
        if segments is None:
            _check_own_segments([*record.bags, *record.predicted], bags, settings)
        return Job(run, inputs, settings, resources, check_label_maps(segments), strict).carry_out(bags)


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


def _check_own_segments(records: Sequence[BagRecord], bags: Sequence[Bag], settings: Settings) -> None:
    """A run on a user's own label maps must not be mixed with other segments."""
    known = {bag.digest: bag for bag in bags if bag.digest and not bag.is_video}
    for record in records:
        bag = known.get(record.digest)
        if bag is not None and record.segments != make_segments_key(bag, settings):
            raise BadInputError("this run was made on label maps of your own; give their folder with --segments")


class Sample(NamedTuple):
    """The bags of a run by whether they vote, and what could not be read of all of them."""

    voters: Sequence[Bag]
    others: Sequence[Bag]
    n_voters: int  # how many were to vote, 0: all
    problems: Sequence[Problem]


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
        self.looks = [(look, check_names(look)) for look in list_looks(settings)]
        self.n_asked = parse_vote_on(settings.vote_on)
        self._extracted: dict[str, dict[str, Bag]] = {}

    def list_stored(self, with_folder: Path, without_folder: Path) -> list[Bag]:
        """The bags of folders in a store with their segments and features; the run is claimed there first."""
        if not self.run.record_path.exists():
            self.run.write_record(make_record(self.inputs, self.settings, ""))
            self.resources.save()
        look, extractor = self.looks[0]
        return list_and_extract(self.run, with_folder, without_folder, look, extractor, self.resources, self.label_maps)

    def carry_out(self, bags: Sequence[Bag]) -> Run:
        """Segment, extract features, vote, decide and write all bags, in their order."""
        if not self.run.record_path.exists():
            self.run.write_record(make_record(self.inputs, self.settings, ""))
        self.run.log(step="start", version=__version__, n_bags=len(bags), settings=self.settings.to_dict())
        corrections = read_corrections(self.run)
        bags = move_bags(bags, corrections)
        if list_orphans(corrections, bags):
            look, extractor = self.looks[0]
            corrections = adopt_corrections(self.run, self._extract(bags, look, extractor), look)
            bags = move_bags(bags, corrections)
            self._extracted.clear()  # a bag label may be another
        if not self._is_done(bags, corrections):
            load_method()
            sample = self._sample(bags, corrections)
            _, (run_vote, neighbours) = choose_look(self.looks, partial(self._vote, sample, corrections))
            if neighbours is not None:
                keep_neighbours(self.run, run_vote.inputs.bags, run_vote.inputs.settings, neighbours)
            self._write(run_vote, sample)
            # The sample is chosen by the features of the first look, and what is done in a store is known by them.
            if not sample.others and self.resources.tasks is None:
                self._remove_other_looks(run_vote.inputs.settings)
        return Run(self.run.path)

    def _remove_other_looks(self, kept: Settings) -> None:
        """Remove the features of looks that were not kept: a later command that wants them extracts them again."""
        needed = {bag.features_key for bag in self._extracted[make_key(**kept.to_dict())].values()}
        for bag in chain.from_iterable(look.values() for look in self._extracted.values()):
            if not bag.problem and bag.features_key not in needed:
                self.run.features_path(bag.features_key).unlink(missing_ok=True)

    def carry_out_with_masks(self, bags: Sequence[Bag], masks: GivenMasks) -> Run:
        """The same with masks of some images, which are finished before the vote."""
        if not self.run.record_path.exists():
            self.run.write_record(make_record(self.inputs, self.settings, ""))
        left_out = append_masks(self.run, bags, masks)
        record = self.carry_out(bags).record
        others = [one for one in record.problems if not one.name.startswith(MASKS)]
        self.run.write_record(structs.replace(record, problems=[*others, *left_out]))
        return Run(self.run.path)

    def _is_done(self, bags: Sequence[Bag], corrections: Corrections) -> bool:
        """Whether the folder holds the result of one of the looks."""
        record = self.run.read_record()
        for look, extractor in self.looks:
            if record.complete and record.inputs == self.inputs and record.settings == look.to_dict():
                sample = self._sample(bags, corrections, record)
                good = keep_readable(self._extract(sample.voters, look, extractor), self.strict)
                others = keep_good(self._extract(sample.others, look, extractor))
                return is_done(self.run, make_result_key(look, good, corrections, others))
        return False

    def _sample(self, bags: Sequence[Bag], corrections: Corrections, record: RunRecord | None = None) -> Sample:
        """The bags that vote and the others, the same for all looks; as many vote as in a record that is given."""
        n_voters = self.n_asked if record is None or self.n_asked is not None else record.vote_on
        if n_voters == 0:
            return Sample(bags, [], 0, [])
        look, extractor = self.looks[0]
        segmented = self._extract(bags, look, extractor)
        good = keep_readable(segmented, self.strict)
        self.resources.fetch(list_extracted(self.run, good))
        if n_voters is None:
            n_voters = self._find_known() or limit_voters(good, extractor.n_dims)
        voters, others = split_bags(self.run, good, extractor, look, n_voters, set(corrections.list_images()))
        if not others:
            return Sample(bags, [], 0, [])
        known = {bag.name: bag for bag in bags}
        first, second = ([known[one.name] for one in some] for some in (voters, others))
        return Sample(first, second, n_voters, list_problems(segmented))

    def _find_known(self) -> int:
        """How many bags voted in an earlier call, whose memory may have been another; 0 where it is not known."""
        record = self.run.read_record()
        return record.vote_on if record.settings.get("vote_on", AUTO) == AUTO else 0

    def _write(self, run_vote: RunVote, sample: Sample) -> None:
        """Write the run; bags that did not vote get segments and features of the look that was chosen."""
        opened = run_vote.inputs
        voters = self._extract(sample.voters, opened.settings, opened.extractor)
        others = self._extract(sample.others, opened.settings, opened.extractor)
        problems = {one.name: one for one in [*sample.problems, *list_problems([*voters, *others])]}
        inputs = replace(opened, others=keep_good(others))
        write_run(
            replace(run_vote, inputs=inputs), self.inputs, list(problems.values()), self.resources, sample.n_voters
        )

    def _extract(self, bags: Sequence[Bag], look: Settings, extractor: FeatureExtractor) -> list[Bag]:
        """Segments and features of all bags at one look, extracted once in a call."""
        known = self._extracted.setdefault(make_key(**look.to_dict()), {})
        missing = [bag for bag in bags if bag.name not in known]
        if missing:
            found = extract_bags(self.run, missing, look, extractor, self.resources, self.label_maps)
            known.update((bag.name, bag) for bag in found)
        return [known[bag.name] for bag in bags]

    def _vote(
        self, sample: Sample, corrections: Corrections, look: Settings, extractor: FeatureExtractor
    ) -> tuple[BaseVote, tuple[RunVote, Neighbours | None]]:
        """The vote at one look; the same with corrections, and its neighbours."""
        run, progress = self.run, self.resources.progress
        good = keep_readable(self._extract(sample.voters, look, extractor), self.strict)
        # With the requested settings, not those of the look: another command may have to continue.
        key = make_result_key(look, good, corrections)
        run.write_record(make_record(self.inputs, self.settings, key, vote_on=sample.n_voters))
        self.resources.fetch(list_extracted(run, good))
        with run.time_step("gather"):
            inputs = open_folder(run, look, extractor, good, corrections, resources=self.resources)
        with run.time_step("vote"):
            progress("vote", 0, 3)
            neighbours = fetch_neighbours(run, good, inputs.table, look)
            progress("vote", 1, 3)
            base = hold_vote(inputs.table, look, neighbours)
            progress("vote", 2, 3)
            run_vote = apply_corrections(inputs, base)
            progress("vote", 3, 3)
        return base, (run_vote, neighbours)


def is_done(run: RunFolder, key: str) -> bool:
    """Whether the run folder holds the result with this key, with all its masks and heat maps."""
    try:
        record = run.read_record()
    except (DamagedFileError, BadInputError):
        return False
    stems = [bag.stem for bag in (*record.bags, *record.predicted)]
    files = [run.votes_path, run.coco_path, *map(run.mask_path, stems), *map(run.heatmap_path, stems)]
    return record.complete and record.key == key and all(path.is_file() for path in files)


def list_found(base: BaseVote) -> Alternatives:
    """The alternatives of a vote, before corrections, with one threshold for each bag."""
    if not base.alternatives:
        return NO_ALTERNATIVES
    joined = [join_frames(base.table, one.selection) for one in base.alternatives]
    return Alternatives(
        selected=np.array([one.selected for one in joined]),
        scores=np.array([one.scores for one in joined]),
        thresholds=np.array([one.thresholds for one in joined]),
        support=np.array([score_support(one) for one in base.alternatives]),
    )


def list_rivals(base: BaseVote) -> list[int]:
    """Numbers of the alternatives that are as well supported as the vote itself, and clearly different."""
    pairs = enumerate(base.alternatives[1:], start=1)
    return [number for number, one in pairs if is_rivalled([base.alternatives[0], one])]


def write_again(run_vote: RunVote, record: RunRecord, resources: Resources) -> None:
    """Write the files of a finished run by another vote on its segments; the caller holds the lock of its folder."""
    opened = run_vote.inputs
    # Not complete while its files are partly old: `annotate` would finish it.
    pending = make_record(record.inputs, opened.settings, "", bags=record.bags, problems=record.problems)
    pending = structs.replace(pending, vote_on=record.vote_on, predicted=record.predicted)
    opened.folder.write_record(pending)
    write_run(run_vote, record.inputs, record.problems, resources, record.vote_on)


def write_run(
    run_vote: RunVote, inputs: Inputs, problems: Sequence[Problem], resources: Resources, vote_on: int = 0
) -> None:
    """Write masks, heat maps, COCO file, votes, model and record; bags that did not vote are predicted by the model.

    The record on disk must be marked as not complete before: until the end its files are half old, half new.
    """
    opened, selection, base = run_vote.inputs, run_vote.selection, run_vote.base
    run, settings, bags = opened.folder, opened.settings, opened.bags
    extent = opened.corrections.extent or settings.extent
    with run.time_step("write"):
        # Other extents are written from these without a vote.
        extents, scores = run_vote.extents, run_vote.correction.selection.scores
        nested = {"levels": extents.first_extents, "thresholds": extents.thresholds, "shares": extents.shares}
        write_arrays(run.extents_path, False, **nested, scores=scores)
        write_alternatives(run, list_found(base))
        write_votes(run, selection, run_vote.default.unsmoothed, run_vote.weights)
        voted = run_vote.excluded, opened.corrections, opened.others
        tasks = list_tasks(bags, opened.table.areas, selection, *voted)
        # By the default extent: the same for every extent that is chosen.
        drawing = fetch_drawing(
            run, list_tasks(bags, opened.table.areas, run_vote.default, *voted), settings, resources
        )
        resources.save()
    with run.time_step("model"):
        write_model(run_vote, extent)
    with run.time_step("masks"):
        others = Others(run, bags, opened.others, resources)
        records, unwritten = write_pictures(run, tasks, settings, drawing, resources, others.masks)
    remove_stale(run.path, [record.stem for record in (*records, *others.records)])
    confidence = describe_confidence(base.confidence, list_rivals(base))
    if base.near_duplicates:
        confidence["near_duplicates"] = [[bags[i].name, bags[j].name] for i, j in base.near_duplicates]
    with run.time_step("estimate"):
        estimate = estimate_others(run_vote)
    chosen = {"extent": extent, "alternative": opened.corrections.alternative, "estimate": estimate}
    predicted = {"vote_on": vote_on, "predicted": tuple(others.records)}
    figures = {"search": describe_search(base.recall), "confidence": confidence, **chosen}
    followed = {"corrections": opened.corrections.digest, "n_actions": opened.corrections.last}
    lost = [*list_lost(run, opened.corrections), *list_unapplied(run, opened.corrections, bags)]
    problems = renew_problems(problems, [*unwritten, *others.problems], lost)
    found = {**figures, **followed, **predicted}
    run.write_record(make_record(inputs, settings, opened.key, True, records, problems, **found))
