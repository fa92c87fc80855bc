"""Another alternative for a finished run: something else that its *with* images share becomes the object."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from pathlib import Path

import numpy as np

from segvote.errors import BadInputError
from segvote.pipeline.annotate import update_run, write_again
from segvote.pipeline.corrected_vote import vote
from segvote.pipeline.extent import draw_selection
from segvote.pipeline.opening import make_run_key, reopen
from segvote.pipeline.workers import Resources
from segvote.run.alternatives import check_alternative, parse_alternative, read_alternatives
from segvote.run.correction_log import Action, CorrectionLog
from segvote.run.corrections import Corrections, read_corrections
from segvote.run.run import Run
from segvote.run.run_folder import RunFolder
from segvote.selection import DEFAULT_EXTENT, Selection, make_unknown_labels
from segvote.types import WITH


def change_alternative(run: Run | Path | str, which: str | int, resources: Resources = Resources()) -> Run:
    """Choose what the masks of a run show, and rewrite its files; see `segvote.choose`.

    The choice is an action of the run's log of corrections: it can be undone on the review page, and later commands
    follow it. Corrections stay, and take part in the vote on the chosen alternative.
    """
    number = parse_alternative(which)
    folder = run.folder if isinstance(run, Run) else RunFolder(run)
    if not folder.read_record().complete:
        # Files of a killed command are half old, half new; an update finishes them.
        update_run(folder.path, resources)
    run = Run(folder.path)
    check_alternative(number, len(read_alternatives(run)))
    run.check_images()
    with folder.lock():
        # A repeated command is one choice: one undo takes it back.
        if read_corrections(folder).alternative != number:
            with closing(CorrectionLog(folder.corrections_path)) as log:
                log.append(Action("alternative", value=number))
        corrections = read_corrections(folder)
        if run.record.key != make_run_key(run, corrections):
            resources.progress("vote", 0, 1)
            voted = vote(reopen(run), keep=True)
            resources.progress("vote", 1, 1)
            write_again(voted, run.record, resources)
    return Run(folder.path)


def draw_alternative(run: Run, index: int, number: int) -> np.ndarray:
    """(h, w) bool: the mask of an image of a run by one of its alternatives, before corrections."""
    if any(bag.n_frames for bag in run.bags):
        raise BadInputError("alternatives of videos are drawn by `segvote choose RUN LETTER`, for all of their frames")
    alternatives = read_alternatives(run)
    check_alternative(number, len(alternatives))
    selection = Selection(
        offsets=run.offsets,
        unsmoothed=alternatives.scores[number],
        scores=alternatives.scores[number],
        selected=alternatives.selected[number],
        user_labels=make_unknown_labels(int(run.offsets[-1])),
        thresholds=alternatives.thresholds[number],
        uncertainty=np.zeros(len(run)),
        empty=np.array([bag.bag_label == WITH and not bag.n_selected for bag in run.bags]),
        extent=np.full(len(run), DEFAULT_EXTENT),
    )
    moved = replace(Corrections(), moved=read_corrections(run.folder).moved)
    return draw_selection(run, index, selection, moved)
