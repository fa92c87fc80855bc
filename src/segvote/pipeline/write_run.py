"""From a vote to the files of a run: masks, votes, alternatives, model and record."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from msgspec import structs

from segvote.errors import BadInputError, DamagedFileError
from segvote.inputs.bags import Bag, Problem
from segvote.io.arrays import write_arrays
from segvote.masks import Drawing
from segvote.method.alternatives import is_rivalled, score_support
from segvote.pipeline.adopt import list_unapplied
from segvote.pipeline.corrected_vote import RunVote
from segvote.pipeline.drawing.choosing import fetch_drawing
from segvote.pipeline.lessons import estimate_others
from segvote.pipeline.model import write_model
from segvote.pipeline.others import Others
from segvote.pipeline.vote import BaseVote, join_frames
from segvote.pipeline.workers import Resources
from segvote.pipeline.write import WriteTask, list_lost, list_tasks, renew_problems, write_pictures, write_votes
from segvote.run.advice import describe_confidence
from segvote.run.alternatives import NO_ALTERNATIVES, Alternatives, write_alternatives
from segvote.run.corrections import Corrections
from segvote.run.output_names import remove_stale
from segvote.run.record import Inputs, RunRecord, describe_search, make_record
from segvote.run.run_folder import RunFolder
from segvote.settings import read_settings


def is_done(run: RunFolder, key: str) -> bool:
    """Whether the run folder holds the result with this key, with all its masks and heat maps."""
    try:
        record = run.read_record()
    except (DamagedFileError, BadInputError):
        return False
    stems = [bag.stem for bag in (*record.bags, *record.predicted)]
    files = [run.votes_path, run.coco_path, *map(run.mask_path, stems), *map(run.heatmap_path, stems)]
    return record.complete and record.key == key and all(path.is_file() for path in files)


def pack_alternatives(base: BaseVote) -> Alternatives:
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


def _describe_confidence(base: BaseVote, bags: Sequence[Bag]) -> dict[str, Any]:
    confidence = describe_confidence(base.confidence, list_rivals(base))
    if base.near_duplicates:
        confidence["near_duplicates"] = [[bags[i].name, bags[j].name] for i, j in base.near_duplicates]
    return confidence


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
    opened, selection = run_vote.inputs, run_vote.selection
    run, settings, corrections = opened.folder, opened.settings, opened.corrections
    bags, extent = opened.bags, corrections.extent or settings.extent
    with run.time_step("write"):
        # Other extents are written from these without a vote.
        write_arrays(run.extents_path, False, **vars(run_vote.extents), scores=run_vote.correction.selection.scores)
        write_alternatives(run, pack_alternatives(run_vote.base))
        write_votes(run, selection, run_vote.default.unsmoothed, run_vote.weights)
        areas, more = opened.table.areas, (run_vote.excluded, corrections, opened.others)
        tasks = list_tasks(bags, areas, selection, *more)
        # By the default extent: the same for every extent that is chosen.
        drawing = fetch_drawing(run, list_tasks(bags, areas, run_vote.default, *more), settings, resources)
        resources.save()
    with run.time_step("model"):
        write_model(run_vote, extent)
    record = make_record(inputs, settings, opened.key, True, (), problems, extent=extent, vote_on=vote_on)
    with run.time_step("masks"):
        others = Others(run, bags, opened.others, resources)
        record = draw_record(record, tasks, bags, others, corrections, drawing)
    remove_stale(run.path, [one.stem for one in (*record.bags, *record.predicted)])
    with run.time_step("estimate"):
        estimate = estimate_others(run_vote)
    search, confidence = describe_search(run_vote.base.recall), _describe_confidence(run_vote.base, bags)
    judged = {"search": search, "confidence": confidence, "alternative": corrections.alternative, "estimate": estimate}
    run.write_record(structs.replace(record, **judged))


def draw_record(
    record: RunRecord,
    tasks: Sequence[WriteTask],
    bags: Sequence[Bag],
    others: Others,
    corrections: Corrections,
    drawing: Drawing,
) -> RunRecord:
    """Draw the masks of a run; its record with them, the corrections that they follow, and the problems of writing.

    The bags that vote are `bags`, one for each task.
    """
    run, settings = others.run, read_settings(record.settings, others.run.record_path)
    records, unwritten = write_pictures(run, tasks, settings, drawing, others.resources, others.masks)
    lost = [*list_lost(run, corrections), *list_unapplied(run, corrections, bags)]
    return structs.replace(
        record,
        bags=records,
        predicted=tuple(others.records),
        problems=renew_problems(record.problems, [*unwritten, *others.problems], lost),
        corrections=corrections.digest,
        n_actions=corrections.last,
    )
