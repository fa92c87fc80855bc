"""From the log to what it means for segments and bags: user labels now, and those the files were written from."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from segvote.review.snapshot import UserInput, Written
from segvote.run.correction_log import Action
from segvote.run.corrections import Corrections, fix_video, make_result_key
from segvote.run.run import Run
from segvote.run.strokes import Canvas
from segvote.run.videos import KeyFrames
from segvote.steps.reopening import list_segmented_images
from segvote.types import WITH


class UserReader:
    """Reads corrections for one run; strokes that were laid before are not laid again."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self._canvases: dict[int, Canvas] = {}
        # Bag to its strokes, user labels and painted shares.
        self._known: dict[int, tuple[list[Action], np.ndarray, np.ndarray]] = {}

    def read(self, corrections: Corrections) -> UserInput:
        """What stands, by segment and bag."""
        records = self.run.bags
        folders = [record.name.split("/", 1)[0] for record in records]
        bag_labels = [
            corrections.moved.get(record.digest, folder) for record, folder in zip(records, folders, strict=True)
        ]
        user_labels, painted_shares = self._label_all(corrections)
        return UserInput(
            action=corrections.last,
            user_labels=user_labels,
            painted=np.array([_find_last(corrections.strokes.get(record.digest, [])) for record in records], np.int64),
            positive=np.array([bag_label == WITH for bag_label in bag_labels]),
            moved=np.array([one != other for one, other in zip(bag_labels, folders, strict=True)]),
            accepted=np.array([record.digest in corrections.looked for record in records]),
            painted_shares=painted_shares,
        )

    def _label_all(self, corrections: Corrections) -> tuple[np.ndarray, np.ndarray]:
        """(n_segments,) int8 user labels and (n_segments,) painted shares."""
        n_segments = int(self.run.offsets[-1])
        user_labels, shares = np.full(n_segments, -1, dtype=np.int8), np.zeros(n_segments)
        for bag, record in enumerate(self.run.bags):
            strokes = corrections.strokes.get(record.digest)
            if strokes:
                part = self.run.get_slice(bag)
                user_labels[part], shares[part] = self._label_bag(bag, strokes)
        return user_labels, shares

    def _label_bag(self, bag: int, strokes: list[Action]) -> tuple[np.ndarray, np.ndarray]:
        known = self._known.get(bag)
        if known is None or known[0] != strokes:
            label = self._label_video if self.run.bags[bag].n_frames else self._label_image
            known = self._known[bag] = (strokes, *label(bag, strokes))
        return known[1:]

    def _label_image(self, bag: int, strokes: Sequence[Action]) -> tuple[np.ndarray, np.ndarray]:
        labels = self.run.read_segments(bag)["labels"]
        canvas = self._canvases.setdefault(bag, Canvas(labels.shape))
        canvas.show(strokes)
        n_segments = self.run.bags[bag].n_segments
        return canvas.label_segments(labels, n_segments), canvas.measure_painted(labels, n_segments)

    def _label_video(self, bag: int, strokes: Sequence[Action]) -> tuple[np.ndarray, np.ndarray]:
        record = self.run.bags[bag]
        user_labels = fix_video(
            KeyFrames.open(self.run.folder, record.segments, record.features), strokes, record.n_segments
        )
        return user_labels, np.zeros(record.n_segments)


def _find_last(strokes: Sequence[Action]) -> int:
    """Number of the last stroke on an image of which pixels are painted; 0 where none are.

    Whatever lies on painted pixels may change them, a clicked segment too.
    """
    return strokes[-1].number if any(stroke.kind == "paint" for stroke in strokes) else 0


def find_written(run: Run, actions: Sequence[Action], corrections: Corrections, user: UserInput) -> Written:
    """What a run was written from, when it is opened.

    Its key tells whether that was with the corrections of now; if not, it is unknown what the images named in the
    log were written with.
    """
    key = make_result_key(run.settings, list_segmented_images(run, corrections), corrections)
    if key == run.record.key:
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
