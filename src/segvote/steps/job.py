"""The steps of a run, from bags to a finished run folder; killed at any moment, it goes on where it was."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from segvote import __version__
from segvote.features import FeatureExtractor
from segvote.kernels import Neighbours
from segvote.progress import Progress, ignore_progress
from segvote.run.bags import Bag, SegmentedImage
from segvote.run.corrections import (
    Corrections,
    fix_table,
    make_result_key,
    measure_painted_shares,
    move_bags,
    read_corrections,
)
from segvote.run.inputs import Inputs
from segvote.run.record import make_record
from segvote.run.run import Run
from segvote.run.run_folder import RunFolder
from segvote.run.settings import Settings
from segvote.steps.extract import BagExtractor
from segvote.steps.knn_cache import fetch_neighbours, keep_neighbours
from segvote.steps.label_maps import LabelMaps
from segvote.steps.looks import is_better, list_levels, wants_closer_look
from segvote.steps.outcome import Outcome, correct_vote, is_done, write_outcome
from segvote.steps.prepare import check_names, extract_bags, keep_readable, list_problems
from segvote.steps.resources import Resources
from segvote.steps.table import gather_table
from segvote.steps.vote import Held, hold_vote, load_method

N_VOTE_PARTS = 3  # neighbours searched, votes counted, corrections applied


def annotate_bags(
    run: RunFolder,
    bags: Sequence[Bag],
    inputs: Inputs,
    settings: Settings,
    label_maps: LabelMaps | None = None,
    *,
    resources: Resources = Resources(),
    strict: bool = False,
    progress: Progress = ignore_progress,
) -> Run:
    """Segment, extract features, vote, decide and write.

    Parameters
    ----------
    run
        The folder, whose lock the caller holds: what the caller read in it is still true. What it holds is not done
        again.
    bags
        All of them, in their order.
    inputs
        Where they lie, for the record.
    settings, label_maps, strict, progress
        As for `segvote.steps.annotate.annotate`.
    resources
        What the steps may use.
    """
    for level in list_levels(settings):
        check_names(level)
    _Job(run, inputs, settings, label_maps, resources, strict, progress).carry_out(bags)
    return Run(run.path)


@dataclass(frozen=True)
class _Look:
    """The vote on one set of features; looks are judged by the vote before corrections."""

    settings: Settings
    key: str
    segmented: list[SegmentedImage]
    neighbours: Neighbours | None
    held: Held
    outcome: Outcome


class _Job:
    """One call: what all its steps need."""

    def __init__(
        self,
        run: RunFolder,
        inputs: Inputs,
        settings: Settings,
        label_maps: LabelMaps | None,
        resources: Resources,
        strict: bool,
        progress: Progress,
    ) -> None:
        self.run, self.inputs, self.settings, self.label_maps = run, inputs.to_record(), settings, label_maps
        self.resources, self.strict, self.progress = resources, strict, progress

    def carry_out(self, bags: Sequence[Bag]) -> None:
        self._claim(len(bags))
        corrections = read_corrections(self.run)
        bags = move_bags(bags, corrections)
        levels = list_levels(self.settings)
        if any(self._is_done(level, bags, corrections) for level in levels):
            return
        load_method()
        look = self._look(levels[0], bags, corrections, keep=True)
        for level in levels[1:]:
            if wants_closer_look(look.held.confidence):
                closer = self._look(level, bags, corrections, keep=False)
                look = closer if is_better(closer.held.confidence, look.held.confidence) else look
        if look.neighbours is not None:
            keep_neighbours(self.run, look.outcome.bags, look.settings, look.neighbours)
        problems = list_problems(look.segmented)
        write_outcome(self.run, look.outcome, self.inputs, look.key, problems, self.resources, self.progress)

    def _claim(self, n_bags: int) -> None:
        """Say whose folder this is before anything else is in it."""
        if not self.run.record_path.exists():
            self.run.write_record(make_record(self.inputs, self.settings, "", complete=False))
        self.run.log(step="start", version=__version__, n_bags=n_bags, settings=self.settings.to_dict())

    def _is_done(self, level: Settings, bags: Sequence[Bag], corrections: Corrections) -> bool:
        """Whether the folder holds the result of this level already."""
        record = self.run.read_record()
        if record["settings"] != level.to_dict() or record["inputs"] != self.inputs or not record["complete"]:
            return False
        good = self._name_bags(level, bags, check_names(level))
        return is_done(self.run, make_result_key(level, good, corrections))

    def _name_bags(self, level: Settings, bags: Sequence[Bag], extractor: FeatureExtractor) -> list[SegmentedImage]:
        """Bags that can be read; where the names of their files tell that all were before, no file is opened."""
        if self.label_maps is None and not extractor.needs_fit:
            named = [BagExtractor(self.run, level, extractor).name(bag) for bag in bags]
            if all(named):
                return [one for one in named if one]
        return keep_readable(self._extract(level, bags, extractor), self.strict)

    def _extract(self, level: Settings, bags: Sequence[Bag], extractor: FeatureExtractor) -> list[SegmentedImage]:
        with self.run.time_step("extract"):
            return extract_bags(self.run, bags, level, extractor, self.label_maps, self.resources, self.progress)

    def _look(self, level: Settings, bags: Sequence[Bag], corrections: Corrections, keep: bool) -> _Look:
        """Segment, extract features and vote; what the folder holds of that is not done again.

        The folder has room for the neighbours of one look: those of the first are kept, those of another held until
        it is known which look is better.
        """
        extractor = check_names(level)
        segmented = self._extract(level, bags, extractor)
        good = keep_readable(segmented, self.strict)
        key = make_result_key(level, good, corrections)
        # Until a look is chosen the record holds the settings that were asked for: another command may continue.
        self.run.write_record(make_record(self.inputs, self.settings, key, complete=False))
        with self.run.time_step("gather"):
            table = gather_table(self.run, good, extractor, settings=level)
        user_labels = fix_table(self.run, good, corrections)
        with self.run.time_step("vote"):
            self.progress("vote", 0, N_VOTE_PARTS)
            neighbours = fetch_neighbours(self.run, good, table, level, keep)
            self.progress("vote", 1, N_VOTE_PARTS)
            held = hold_vote(table, level, neighbours)
            self.progress("vote", 2, N_VOTE_PARTS)
            shares = measure_painted_shares(self.run, good, corrections)
            corrected = correct_vote(held, user_labels, shares)
            self.progress("vote", N_VOTE_PARTS, N_VOTE_PARTS)
        outcome = Outcome(level, extractor, good, table, held, corrected, corrections)
        return _Look(level, key, segmented, None if keep else neighbours, held, outcome)
