"""The steps of a run, from bags to a finished run folder; a killed run continues where it was."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from segvote import __version__
from segvote.errors import BadInputError, DamagedFileError
from segvote.features import FeatureExtractor
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
from segvote.steps.looks import is_better, list_levels, wants_closer_look
from segvote.steps.model import write_model
from segvote.steps.prepare import check_names, extract_bags, keep_readable, learn_words, list_problems
from segvote.steps.reopening import Voted, apply_corrections, open_folder
from segvote.steps.vote import Held, hold_vote, load_method
from segvote.steps.workers import Resources
from segvote.steps.write import list_tasks, write_extents, write_pictures, write_votes

# The vote at one level of detail, its neighbours, and the images that were left out.
_Look = tuple[Voted, Neighbours | None, list[Problem]]


class Job:
    """One call of `annotate` or `update`, on a run folder whose lock the caller holds; see `segvote.annotate`.

    A wrong name in the settings is an error at once, before anything is written.
    """

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
        # Before anything else is in the folder, the record says to which inputs it belongs.
        if not self.run.record_path.exists():
            self.run.write_record(make_record(self.inputs, self.settings, ""))
        self.run.log(step="start", version=__version__, n_bags=len(bags), settings=self.settings.to_dict())
        corrections = read_corrections(self.run)
        bags = move_bags(bags, corrections)
        if not self._is_done(bags, corrections):
            load_method()
            voted, neighbours, problems = self._vote_closely(bags, corrections)
            if neighbours is not None:
                keep_neighbours(self.run, voted.opened.bags, voted.opened.settings, neighbours)
            write_run(voted, self.inputs, problems, self.resources)
        return Run(self.run.path)

    def _is_done(self, bags: Sequence[Bag], corrections: Corrections) -> bool:
        """Whether the folder holds the result of one of the levels already."""
        record = self.run.read_record()
        for level, extractor in self.levels:
            if record.complete and record.inputs == self.inputs and record.settings == level.to_dict():
                good = keep_readable(self._extract(level, extractor, bags), self.strict)
                return is_done(self.run, make_result_key(level, good, corrections))
        return False

    def _extract(self, level: Settings, extractor: FeatureExtractor, bags: Sequence[Bag]) -> list[SegmentedImage]:
        words = learn_words(self.run, bags, level, extractor, self.resources.progress)
        return extract_bags(BagExtractor(self.run, level, extractor, words, self.label_maps), bags, self.resources)

    def _vote_closely(self, bags: Sequence[Bag], corrections: Corrections) -> _Look:
        """The vote at the first level, or at a closer one that is wanted and better."""
        best: _Look | None = None
        for level, extractor in self.levels:
            if best is None or wants_closer_look(level, best[0].held.confidence):
                look = self._vote(level, extractor, bags, corrections)
                if best is None or is_better(look[0].held.confidence, best[0].held.confidence):
                    best = look
        assert best is not None
        return best

    def _vote(
        self, level: Settings, extractor: FeatureExtractor, bags: Sequence[Bag], corrections: Corrections
    ) -> _Look:
        run, progress = self.run, self.resources.progress
        segmented = self._extract(level, extractor, bags)
        good = keep_readable(segmented, self.strict)
        # Until a look is chosen the record holds the settings that were asked for: another command may continue.
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
        return voted, neighbours, list_problems(segmented)


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
        drawing = fetch_drawing(run, tasks, settings, resources)
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
