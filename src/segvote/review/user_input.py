"""Corrections of a run by segment and bag, and the state from which its files were written."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from segvote.review.snapshot import Snapshot, UserInput, make_snapshot
from segvote.run.correction_log import Action
from segvote.run.corrections import Corrections, label_bag, make_result_key
from segvote.run.run import Run
from segvote.steps.reopening import list_run_bags
from segvote.types import WITH


class UserReader:
    """Reads corrections for one run; a bag whose strokes did not change is not labelled again."""

    def __init__(self, run: Run) -> None:
        self.run, self._images = run, list_run_bags(run)
        # Bag to its strokes, user labels and painted shares.
        self._known: dict[int, tuple[list[Action], np.ndarray, np.ndarray]] = {}

    def read(self, corrections: Corrections) -> UserInput:
        records = self.run.bags
        folders = [record.name.split("/", 1)[0] for record in records]
        pairs = zip(records, folders, strict=True)
        bag_labels = [corrections.moved.get(record.digest, folder) for record, folder in pairs]
        strokes = [corrections.strokes.get(record.digest, []) for record in records]
        n_segments = int(self.run.offsets[-1])
        user_labels, painted_shares = np.full(n_segments, -1, dtype=np.int8), np.zeros(n_segments)
        for bag in (bag for bag, several in enumerate(strokes) if several):
            part = self.run.get_slice(bag)
            user_labels[part], painted_shares[part] = self._label_bag(bag, strokes[bag])
        return UserInput(
            action=corrections.last,
            user_labels=user_labels,
            painted=np.array([_find_last(several) for several in strokes], np.int64),
            positive=np.array([bag_label == WITH for bag_label in bag_labels]),
            moved=np.array([one != other for one, other in zip(bag_labels, folders, strict=True)]),
            accepted=np.array([record.digest in corrections.looked for record in records]),
            painted_shares=painted_shares,
        )

    def _label_bag(self, bag: int, strokes: list[Action]) -> tuple[np.ndarray, np.ndarray]:
        known = self._known.get(bag)
        if known is None or known[0] != strokes:
            known = self._known[bag] = (strokes, *label_bag(self.run.folder, self._images[bag], strokes))
        return known[1:]


def _find_last(strokes: Sequence[Action]) -> int:
    """Number of the last stroke on an image with painted pixels, which any later stroke may change; 0: none."""
    return strokes[-1].number if any(stroke.kind == "paint" for stroke in strokes) else 0


def open_snapshot(run: Run) -> Snapshot:
    """The first snapshot of a run: its files, without corrections."""
    votes, records = run.votes, run.bags
    return make_snapshot(
        run.offsets,
        np.concatenate([run.read_segments(bag)["areas"] for bag in range(len(run))]),
        np.array([record.bag_label == WITH for record in records]),
        votes["scores"],
        votes["decisions"],
        votes["thresholds"],
        np.array([record.uncertainty for record in records]),
        np.array([record.area for record in records]),
    )


def find_written(run: Run, actions: Sequence[Action], corrections: Corrections, user: UserInput) -> Snapshot:
    """The state from which the files of a run were written, when it is opened.

    The key of the run tells whether that was with these corrections; if not, the labels and painted pixels of images
    in the log at that time are unknown.
    """
    written = open_snapshot(run)
    if make_result_key(run.settings, list_run_bags(run, corrections), corrections) == run.record.key:
        return replace(written, user_labels=user.user_labels, painted=user.painted)
    touched = {action.image for action in actions}
    return replace(written, painted=np.array([-1 if record.digest in touched else 0 for record in run.bags]))
