"""The steps of a run, from bags to a finished run folder; a killed run continues where it was."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from segvote import __version__
from segvote.errors import BadInputError, DamagedFileError
from segvote.kernels import Neighbours
from segvote.run.bags import Bag, SegmentedImage
from segvote.run.corrections import Corrections, make_result_key, move_bags, read_corrections
from segvote.run.output_names import remove_stale
from segvote.run.record import DrawingChoice, Inputs, Problem, describe_search, make_record
from segvote.run.run import Run
from segvote.run.run_folder import RunFolder
from segvote.run.settings import Settings
from segvote.steps.drawing.choosing import fetch_drawing
from segvote.steps.extract import BagExtractor
from segvote.steps.knn_cache import fetch_neighbours, keep_neighbours
from segvote.steps.label_maps import LabelMaps
from segvote.steps.looks import is_better, list_levels, wants_closer_look
from segvote.steps.model import write_model
from segvote.steps.prepare import check_names, extract_bags, keep_readable, learn_words, list_problems
from segvote.steps.reopening import Voted, apply_corrections, open_folder
from segvote.steps.vote import Held, hold_vote, load_method
from segvote.steps.workers import Resources
from segvote.steps.write import list_tasks, write_extents, write_pictures, write_votes

N_VOTE_PARTS = 3  # neighbours searched, votes counted, corrections applied


@dataclass(frozen=True)
class _Look:
    """The vote on one set of features, and its neighbours where they are not stored yet."""

    segmented: list[SegmentedImage]
    voted: Voted
    neighbours: Neighbours | None


class Job:
    """One call of `annotate` or `update`.

    Parameters
    ----------
    run : RunFolder
        The folder, whose lock the caller holds: what the caller read in it is still true. What it holds is not done
        again.
    inputs : Inputs
        Where the bags lie, for the record.
    settings, resources
        What was chosen, and what the steps may use.
    label_maps : LabelMaps, optional
        The user's own segments.
    strict : bool
        An unreadable image is an error.
    """

    def __init__(
        self,
        run: RunFolder,
        inputs: Inputs,
        settings: Settings,
        resources: Resources,
        label_maps: LabelMaps | None = None,
        strict: bool = False,
    ) -> None:
        self.run, self.inputs, self.settings, self.resources = run, inputs, settings, resources
        self.label_maps, self.strict = label_maps, strict
        self.levels = list_levels(settings)
        self.extractors = [check_names(level) for level in self.levels]

    def carry_out(self, bags: Sequence[Bag]) -> Run:
        """Segment, extract features, vote, decide and write all bags, in their order."""
        self._claim(len(bags))
        corrections = read_corrections(self.run)
        bags = move_bags(bags, corrections)
        if self._is_done(bags, corrections):
            return Run(self.run.path)
        load_method()
        look: _Look | None = None
        for number in range(len(self.levels)):
            if look is None or wants_closer_look(self.levels[number], look.voted.held.confidence):
                segmented = extract_bags(self._open(number, bags), bags, self.resources)
                closer = self._vote(number, segmented, corrections)
                if look is None or is_better(closer.voted.held.confidence, look.voted.held.confidence):
                    look = closer
        assert look is not None
        if look.neighbours is not None:
            keep_neighbours(self.run, look.voted.opened.bags, look.voted.opened.settings, look.neighbours)
        write_run(look.voted, self.inputs, list_problems(look.segmented), self.resources)
        return Run(self.run.path)

    def _claim(self, n_bags: int) -> None:
        """Write the inputs into the folder before anything else is in it."""
        if not self.run.record_path.exists():
            self.run.write_record(make_record(self.inputs, self.settings, ""))
        self.run.log(step="start", version=__version__, n_bags=n_bags, settings=self.settings.to_dict())

    def _open(self, number: int, bags: Sequence[Bag]) -> BagExtractor:
        level, extractor = self.levels[number], self.extractors[number]
        words = learn_words(self.run, bags, level, extractor, self.resources.progress)
        return BagExtractor(self.run, level, extractor, words, self.label_maps)

    def _is_done(self, bags: Sequence[Bag], corrections: Corrections) -> bool:
        """Whether the folder holds the result of one of the levels already."""
        record = self.run.read_record()
        for number, level in enumerate(self.levels):
            if record.complete and record.inputs == self.inputs and record.settings == level.to_dict():
                segmented = extract_bags(self._open(number, bags), bags, self.resources)
                return is_done(self.run, make_result_key(level, keep_readable(segmented, self.strict), corrections))
        return False

    def _vote(self, number: int, segmented: list[SegmentedImage], corrections: Corrections) -> _Look:
        """The vote on the segments and features of one level.

        The folder has room for the neighbours of one look: those of the first are kept, those of another held until
        it is known which look is better.
        """
        level, extractor, progress = self.levels[number], self.extractors[number], self.resources.progress
        good = keep_readable(segmented, self.strict)
        key = make_result_key(level, good, corrections)
        # Until a look is chosen the record holds the settings that were asked for: another command may continue.
        self.run.write_record(make_record(self.inputs, self.settings, key))
        with self.run.time_step("gather"):
            opened = open_folder(self.run, level, extractor, good, corrections, resources=self.resources)
        with self.run.time_step("vote"):
            progress("vote", 0, N_VOTE_PARTS)
            neighbours = fetch_neighbours(self.run, good, opened.table, level, keep=number == 0)
            progress("vote", 1, N_VOTE_PARTS)
            held = hold_vote(opened.table, level, neighbours)
            progress("vote", 2, N_VOTE_PARTS)
            voted = apply_corrections(opened, held)
            progress("vote", N_VOTE_PARTS, N_VOTE_PARTS)
        return _Look(segmented, voted, neighbours if number else None)


def is_done(run: RunFolder, key: str) -> bool:
    """Whether the run folder holds the result of that name, with all its masks and heat maps."""
    try:
        record = run.read_record()
    except (DamagedFileError, BadInputError):
        return False
    stems = [bag.stem for bag in record.bags]
    files = [run.votes_path, run.coco_path, *map(run.mask_path, stems), *map(run.heatmap_path, stems)]
    return record.complete and record.key == key and all(path.is_file() for path in files)


def write_run(voted: Voted, inputs: Inputs, problems: Sequence[Problem], resources: Resources) -> None:
    """Write masks, heat maps, COCO file, votes, model and record.

    The record must say already that the run is not complete: until the end its files are half old, half new.
    """
    opened, decision, run = voted.opened, voted.decision, voted.opened.folder
    settings, corrections = opened.settings, opened.corrections
    extent = corrections.extent or settings.extent
    with run.time_step("write"):
        write_extents(run, voted.extents, voted.vote.scores)
        write_votes(run, decision)
        tasks = list_tasks(opened.bags, opened.table.areas, decision, corrections)
        drawing = fetch_drawing(run, tasks, settings, resources, resources.progress)
        records = write_pictures(run, tasks, settings, drawing, resources)
    with run.time_step("model"):
        write_model(voted, extent)
    remove_stale(run.path, [record.stem for record in records])
    found = {
        "search": describe_search(voted.held.recall),
        "confidence": _describe_confidence(voted.held, [bag.bag.name for bag in opened.bags]),
        "drawing": DrawingChoice(drawing.way, drawing.reason, drawing.refine, drawing.refine_sha256),
        "extent": extent,
    }
    run.write_record(make_record(inputs, settings, opened.key, True, records, problems, **found))


def _describe_confidence(held: Held, names: Sequence[str]) -> dict[str, Any]:
    alike = [[names[one], names[other]] for one, other in held.near_duplicates]
    return {**held.confidence.to_dict(), **({"near_duplicates": alike} if alike else {})}
