"""Everything after the vote: the files of a run, written from its result, and whether they are there already."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from segvote.errors import BadInputError, DamagedFileError
from segvote.features import FeatureExtractor
from segvote.method.extents import Extents, apply_levels, find_extents
from segvote.method.vote import Vote
from segvote.progress import Progress
from segvote.run.bags import SegmentedImage
from segvote.run.corrections import Corrections
from segvote.run.output_names import remove_stale
from segvote.run.record import describe_search, make_record
from segvote.run.run_folder import RunFolder
from segvote.run.settings import Settings
from segvote.steps.drawing.choosing import fetch_drawing
from segvote.steps.prediction.model import write_model
from segvote.steps.resources import Resources
from segvote.steps.table import Table
from segvote.steps.vote import Held, join_frames
from segvote.steps.write import Decision, list_tasks, write_extents, write_pictures, write_votes


@dataclass(frozen=True)
class Corrected:
    """A vote in which corrections take part.

    Attributes
    ----------
    refitted : Vote
        The vote that user labels took part in, from which later labels are propagated quickly.
    vote : Vote
        With the corrections of now, at the default extent.
    extents : Extents
        Its nested selections.
    """

    refitted: Vote
    vote: Vote
    extents: Extents


def correct_vote(
    held: Held, user_labels: np.ndarray | None, painted: np.ndarray | None, refitted: Vote | None = None
) -> Corrected:
    """Apply corrections; `refitted` is that of an earlier vote with fewer labels, which is quicker."""
    refitted = held.refit(user_labels) if refitted is None else refitted
    found = held.correct(user_labels, painted, refitted)
    return Corrected(refitted, found, find_extents(found))


@dataclass(frozen=True)
class Outcome:
    """A vote and all it was held on.

    Attributes
    ----------
    settings, extractor
        What was chosen, and the extractor of features.
    bags, table
        Bags that could be read, with their bag labels; their segments.
    held, corrected
        The vote without corrections, and with them.
    corrections
        The user's.
    """

    settings: Settings
    extractor: FeatureExtractor
    bags: Sequence[SegmentedImage]
    table: Table
    held: Held
    corrected: Corrected
    corrections: Corrections

    @property
    def result(self) -> Vote:
        """The vote at the extent that was chosen for each image."""
        digests = [bag.bag.digest for bag in self.bags]
        levels = self.corrections.list_levels(digests, self.settings.extent)
        found = apply_levels(self.corrected.vote, self.corrected.extents, levels[self.table.groups])
        return join_frames(self.table, found)

    @cached_property
    def decision(self) -> Decision:
        """What the files are written from."""
        result, base = self.result, join_frames(self.table, self.corrected.vote)
        return Decision(
            scores=result.scores,
            selected=result.selected,
            user_labels=result.user_labels,
            votes=base.votes,
            weights=self.corrected.vote.weights,
            thresholds=result.thresholds,
            uncertainty=result.uncertainty,
            excluded=self.table.average_by_bag(self.held.vote.excluded) > 0.5,
        )


def is_done(run: RunFolder, key: str) -> bool:
    """Whether the run folder holds the result of that name, with all its masks and heat maps."""
    try:
        record = run.read_record()
        done = record["complete"] and record["key"] == key
        stems = [bag["stem"] for bag in record["bags"]]
    except (DamagedFileError, BadInputError, KeyError, TypeError):
        return False
    files = [run.votes_path, run.coco_path, *map(run.mask_path, stems), *map(run.heatmap_path, stems)]
    return bool(done) and all(path.is_file() for path in files)


def write_outcome(
    run: RunFolder,
    outcome: Outcome,
    inputs: dict[str, Any],
    key: str,
    problems: Sequence[dict[str, str]],
    resources: Resources,
    progress: Progress,
) -> None:
    """Write masks, heat maps, COCO file, votes, model and record; what is half old, half new is not complete."""
    run.write_record(make_record(inputs, outcome.settings, key, complete=False))
    write_files(run, outcome, inputs, key, problems, resources, progress)


def write_files(
    run: RunFolder,
    outcome: Outcome,
    inputs: dict[str, Any],
    key: str,
    problems: Sequence[dict[str, str]],
    resources: Resources,
    progress: Progress,
) -> None:
    """As `write_outcome`, for a run folder whose record says already that it is not complete."""
    settings, held = outcome.settings, outcome.held
    extent = outcome.corrections.extent or settings.extent
    with run.time_step("write"):
        write_extents(run, outcome.corrected.extents, outcome.corrected.vote.scores)
        write_votes(run, outcome.decision)
        tasks = list_tasks(outcome.bags, outcome.table.areas, outcome.decision, outcome.corrections)
        drawing = fetch_drawing(run, tasks, settings, resources, progress)
        records = write_pictures(run, tasks, settings, drawing, resources, progress)
    with run.time_step("model"):
        write_model(run, settings, outcome.extractor, outcome.table, held, outcome.corrected, extent)
    remove_stale(run.path, [record.stem for record in records])
    search = describe_search(held.recall, getattr(held.voter, "kernel_error_", None))
    names = [bag.bag.name for bag in outcome.bags]
    alike = [[names[one], names[other]] for one, other in held.near_duplicates]
    confidence = {**held.confidence.to_dict(), **({"near_duplicates": alike} if alike else {})}
    run.write_record(make_record(inputs, settings, key, True, records, problems, search, confidence, drawing, extent))
