"""The steps of a run, from bags to a finished run folder; killed at any moment, it goes on where it was."""

from __future__ import annotations

from collections.abc import Sequence

from segvote import __version__
from segvote.features import FeatureExtractor
from segvote.method import SegmentAnnotator
from segvote.progress import Progress, ignore_progress
from segvote.run.bags import Bag
from segvote.run.corrections import fix_table, move_bags, read_corrections
from segvote.run.inputs import Inputs
from segvote.run.record import make_record, make_result_key
from segvote.run.run import Run
from segvote.run.run_folder import RunFolder
from segvote.run.segmented_image import SegmentedImage
from segvote.run.settings import Settings
from segvote.steps.knn_cache import fetch_neighbours
from segvote.steps.label_maps import LabelMaps
from segvote.steps.outcome import Outcome, is_done, write_outcome
from segvote.steps.prepare import check_names, extract_bags, keep_readable, list_problems
from segvote.steps.resources import Resources
from segvote.steps.table import Table, gather_table
from segvote.steps.vote import fit_annotator

__all__ = ["annotate_bags"]

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
    extractor = check_names(settings)
    _Job(run, inputs, settings, extractor, resources, progress).carry_out(bags, label_maps, strict)
    return Run(run.path)


class _Job:
    """One call: what all its steps need."""

    def __init__(
        self,
        run: RunFolder,
        inputs: Inputs,
        settings: Settings,
        extractor: FeatureExtractor,
        resources: Resources,
        progress: Progress,
    ) -> None:
        self.run, self.inputs, self.settings, self.extractor = run, inputs.to_record(), settings, extractor
        self.resources, self.progress = resources, progress

    def carry_out(self, bags: Sequence[Bag], label_maps: LabelMaps | None, strict: bool) -> None:
        self._claim(len(bags))
        corrections = read_corrections(self.run)
        bags = move_bags(bags, corrections)
        with self.run.time_step("extract"):
            segmented = extract_bags(
                self.run, bags, self.settings, self.extractor, label_maps, self.resources, self.progress
            )
        good = keep_readable(segmented, strict)
        key = make_result_key(self.settings, good, corrections)
        if is_done(self.run, key) and self.run.read_record()["inputs"] == self.inputs:
            return
        self.run.write_record(make_record(self.inputs, self.settings, key, complete=False))
        with self.run.time_step("gather"):
            table = gather_table(self.run, good, self.extractor, settings=self.settings, resources=self.resources)
        user_labels = fix_table(self.run, good, corrections)
        with self.run.time_step("vote"):
            annotator = self._vote(table, good)
            result = annotator.correct(user_labels)
            self.progress("vote", N_VOTE_PARTS, N_VOTE_PARTS)
        outcome = Outcome(self.settings, self.extractor, good, table, annotator, result, corrections)
        write_outcome(self.run, outcome, self.inputs, key, list_problems(segmented), self.resources, self.progress)

    def _claim(self, n_bags: int) -> None:
        """Say whose folder this is before anything else is in it."""
        if not self.run.record_path.exists():
            self.run.write_record(make_record(self.inputs, self.settings, "", complete=False))
        self.run.log(step="start", version=__version__, n_bags=n_bags, settings=self.settings.to_dict())

    def _vote(self, table: Table, bags: Sequence[SegmentedImage]) -> SegmentAnnotator:
        self.progress("vote", 0, N_VOTE_PARTS)
        neighbours = fetch_neighbours(self.run, bags, table, self.settings)
        self.progress("vote", 1, N_VOTE_PARTS)
        annotator = fit_annotator(table, self.settings, neighbours)
        self.progress("vote", 2, N_VOTE_PARTS)
        return annotator
