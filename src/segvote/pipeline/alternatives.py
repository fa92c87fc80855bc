"""Another alternative for a finished run: something else that its *with* images share becomes the object."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from segvote.errors import BadInputError
from segvote.pipeline.corrected_vote import vote
from segvote.pipeline.extent import append_choice, draw_selection, finish_run, make_run_selection
from segvote.pipeline.opening import make_run_key, reopen
from segvote.pipeline.workers import Resources
from segvote.pipeline.write_run import write_again
from segvote.run.alternatives import check_alternative, parse_alternative, read_alternatives
from segvote.run.correction_log import Action
from segvote.run.corrections import Corrections, read_corrections
from segvote.run.run import Run


def change_alternative(run: Run | Path | str, which: str | int, resources: Resources = Resources()) -> Run:
    """Choose what the masks of a run show, and rewrite its files; see `segvote.choose`.

    The choice is an action of the run's log of corrections: it can be undone on the review page, and later commands
    follow it. Corrections stay, and take part in the vote on the chosen alternative.
    """
    number = parse_alternative(which)
    run = finish_run(run, resources)
    check_alternative(number, len(read_alternatives(run)))
    run.check_images()
    folder = run.folder
    with folder.lock():
        corrections = append_choice(folder, read_corrections(folder), Action("alternative", value=number))
        if run.record.key != make_run_key(run, corrections):
            resources.progress("vote", 0, 1)
            run_vote = vote(reopen(run), keep=True)
            resources.progress("vote", 1, 1)
            write_again(run_vote, run.record, resources)
    return Run(folder.path)


def draw_alternative(run: Run, index: int, number: int) -> np.ndarray:
    """(h, w) bool: the mask of an image of a run by one of its alternatives, before corrections."""
    if any(bag.n_frames for bag in run.bags):
        raise BadInputError("alternatives of videos are drawn by `segvote choose RUN LETTER`, for all of their frames")
    alternatives = read_alternatives(run)
    check_alternative(number, len(alternatives))
    scores, selected = alternatives.scores[number], alternatives.selected[number]
    selection = make_run_selection(run, scores, selected, alternatives.thresholds[number], scores)
    moved = replace(Corrections(), moved=read_corrections(run.folder).moved)
    return draw_selection(run, index, selection, moved)
