"""From what the masks on the disk were written: changes that the page shows count from there."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from segvote.review.snapshot import UserInput, Written
from segvote.run.correction_log import Action
from segvote.run.corrections import Corrections, make_result_key
from segvote.run.run import Run
from segvote.steps.reopening import list_segmented_images
from segvote.types import WITH


def find_written(run: Run, actions: Sequence[Action], corrections: Corrections, user: UserInput) -> Written:
    """What a run was written from, when it is opened.

    Its key tells whether that was with the corrections of now; if not, it is unknown what the images named in the
    log were written with.
    """
    key = make_result_key(run.settings, list_segmented_images(run, corrections), corrections)
    if key == run.record.get("key"):
        return read_written(run, user)
    touched = {action.image for action in actions}
    is_known = np.array([record.digest not in touched for record in run.bags])
    no_labels, not_painted = np.full(len(user.user_labels), -1, dtype=np.int8), np.zeros(len(run), dtype=np.int64)
    return _read(run, no_labels, not_painted, is_known)


def read_written(run: Run, user: UserInput) -> Written:
    """What a run was written from, when it was just written with this input of the user."""
    return _read(run, user.user_labels, user.painted, np.ones(len(run), dtype=bool))


def _read(run: Run, user_labels: np.ndarray, painted: np.ndarray, is_known: np.ndarray) -> Written:
    votes = run.votes
    return Written(
        scores=votes["scores"],
        decisions=votes["decisions"],
        user_labels=user_labels,
        thresholds=votes["thresholds"],
        positive=np.array([record.bag_label == WITH for record in run.bags]),
        painted=painted,
        covered=np.array([record.area for record in run.bags]),
        is_known=is_known,
    )
