"""`annotate`: two folders in, a run folder with masks out.

A killed run continues where it stopped, and a repeated run does nothing twice.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from msgspec import structs

from segvote import __version__
from segvote.errors import BadInputError
from segvote.features import FeatureExtractor
from segvote.inputs.bags import Bag, Problem, list_bags
from segvote.inputs.label_maps import check_label_maps
from segvote.io.own_folders import refuse_inside
from segvote.io.stores import name_path_or_uri
from segvote.numerics import Neighbours
from segvote.pipeline.adopt import prepare_corrections
from segvote.pipeline.corrected_vote import RunVote, apply_corrections
from segvote.pipeline.given_masks import MASKS, GivenMasks, append_masks
from segvote.pipeline.looks import choose_look, list_looks
from segvote.pipeline.opening import open_folder
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
from segvote.pipeline.vote import BaseVote, fetch_neighbours, hold_vote, keep_neighbours, load_method
from segvote.pipeline.workers import Resources
from segvote.pipeline.write_run import is_done, write_run
from segvote.run.corrections import Corrections, make_result_key
from segvote.run.record import Inputs, RunRecord, make_record
from segvote.run.run import Run
from segvote.run.run_folder import RunFolder, make_key
from segvote.settings import AUTO, Settings


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
        bags, corrections = prepare_corrections(self.run, bags, self.looks[0][0], self._extract_first)
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
            extracted = extract_bags(self.run, missing, look, extractor, self.resources, self.label_maps)
            known.update((bag.name, bag) for bag in extracted)
        return [known[bag.name] for bag in bags]

    def _extract_first(self, bags: Sequence[Bag]) -> list[Bag]:
        """Segments and features at the first look, forgotten afterwards: the corrections may change bag labels."""
        extracted = self._extract(bags, *self.looks[0])
        self._extracted.clear()
        return extracted

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
