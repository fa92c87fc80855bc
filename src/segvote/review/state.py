"""The state of a review: the log gone through, and its corrections by segment and bag.

A state is a value: each new action makes the next one from the last, without reading or replaying what came before.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from segvote.pipeline.opening import list_run_bags, make_run_key
from segvote.pipeline.strokes import Canvas
from segvote.pipeline.user_labels import label_bag, label_canvas
from segvote.review.snapshot import Snapshot, UserInput, make_snapshot
from segvote.run.correction_log import Action
from segvote.run.corrections import Corrections, History
from segvote.run.run import Run
from segvote.selection import make_unknown_labels
from segvote.types import WITH

# Pixels, at the size of the segments, of the canvases that are kept, so that one more stroke on an image is not laid
# over all others: of a few bytes each, some 500 images of 320 x 240.
MAX_CANVAS_PIXELS = 1 << 25
# Labels of an image that are kept, so that undo and redo need not find them again.
N_KEPT_LABELS = 8


@dataclass(frozen=True)
class ReviewState:
    """The review after an action of the log."""

    history: History
    user: UserInput  # its corrections by segment and bag

    @property
    def corrections(self) -> Corrections:
        return self.history.corrections

    @property
    def last(self) -> int:
        """Number of the last action."""
        return self.history.corrections.last


@dataclass(frozen=True)
class _BagLabels:
    """User labels of one bag and the strokes that they come from."""

    strokes: Sequence[Action]
    user_labels: np.ndarray  # (n,) int8
    painted_shares: np.ndarray  # (n,)
    finished: np.ndarray  # (n,) see `label_bag`
    painted: int  # number of the last stroke, where any is painted; else 0


class StateReader:
    """Makes the states of one run; a bag whose strokes did not change is not labelled again."""

    def __init__(self, run: Run) -> None:
        self.run, self._images = run, list_run_bags(run)
        n_segments = int(run.offsets[-1])
        # Of the corrections that were read last: labels, painted shares and `finished` of segments, `painted` of bags.
        self._last = Corrections()
        self._labels: tuple[np.ndarray, ...] = (
            make_unknown_labels(n_segments),
            np.zeros(n_segments),
            np.full(n_segments, np.nan),
            np.zeros(len(run), dtype=np.int64),
        )
        self._known: dict[int, deque[_BagLabels]] = {}  # the last ones of each bag
        self._canvases: dict[int, Canvas] = {}  # the last one used at the end

    def add_bag(self) -> None:
        """The run shows one more bag: label its segments."""
        self._images, bag = list_run_bags(self.run), len(self._images)
        strokes = self._last.strokes.get(self.run.bags[bag].digest, ())
        of_bag = self._label_bag(bag, strokes)
        parts = of_bag.user_labels, of_bag.painted_shares, of_bag.finished, np.array([of_bag.painted])
        self._labels = tuple(np.concatenate(pair) for pair in zip(self._labels, parts, strict=True))

    def extend(self, history: History, actions: Sequence[Action]) -> ReviewState:
        """The state after the next actions of a history."""
        after = history.extend(actions)
        return ReviewState(after, self.read(after.corrections))

    def read(self, corrections: Corrections) -> UserInput:
        """Corrections by segment and bag."""
        records = self.run.bags
        folders = [record.name.split("/", 1)[0] for record in records]
        pairs = zip(records, folders, strict=True)
        bag_labels = [corrections.moved.get(record.digest, folder) for record, folder in pairs]
        user_labels, painted_shares, finished, painted = self._label_bags(corrections)
        return UserInput(
            action=corrections.last,
            user_labels=user_labels,
            painted=painted,
            positive=np.array([bag_label == WITH for bag_label in bag_labels]),
            moved=np.array([one != other for one, other in zip(bag_labels, folders, strict=True)]),
            accepted=np.array([record.digest in corrections.accepted for record in records]),
            painted_shares=painted_shares,
            finished=finished,
        )

    def _label_bags(self, corrections: Corrections) -> tuple[np.ndarray, ...]:
        """The arrays of `_labels` for these corrections; bags with the strokes that were read last are kept."""
        labels = tuple(one.copy() for one in self._labels)
        user_labels, painted_shares, finished, painted = labels
        for bag, record in enumerate(self.run.bags):
            strokes = corrections.strokes.get(record.digest, ())
            if strokes is not self._last.strokes.get(record.digest, ()):
                part, of_bag = self.run.get_slice(bag), self._label_bag(bag, strokes)
                user_labels[part], painted_shares[part] = of_bag.user_labels, of_bag.painted_shares
                finished[part], painted[bag] = of_bag.finished, of_bag.painted
        self._last, self._labels = corrections, labels
        return labels

    def _label_bag(self, bag: int, strokes: Sequence[Action]) -> _BagLabels:
        several = self._known.setdefault(bag, deque(maxlen=N_KEPT_LABELS))
        known = next((one for one in reversed(several) if one.strokes == strokes), None)
        if known is None:
            is_painted = any(stroke.kind in ("paint", "accept") for stroke in strokes)
            # Any later stroke may change painted pixels.
            painted = strokes[-1].number if is_painted else 0
            known = _BagLabels(strokes, *self._lay_over(bag, strokes), painted)
            several.append(known)
        return known

    def _lay_over(self, bag: int, strokes: Sequence[Action]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """As `label_bag`, on a canvas that has the earlier strokes already."""
        image = self._images[bag]
        if image.n_frames:
            return label_bag(self.run.folder, image, strokes)
        labels = self.run.read_segments(bag)["labels"]
        canvas = self._canvases.pop(bag, None) or Canvas(labels.shape)
        canvas.show(strokes)
        self._canvases[bag] = canvas
        while len(self._canvases) > 1 and sum(one.values.size for one in self._canvases.values()) > MAX_CANVAS_PIXELS:
            del self._canvases[next(iter(self._canvases))]
        return label_canvas(canvas, labels, strokes, image.n_segments)


def open_snapshot(run: Run, numbers: Sequence[int] | None = None) -> Snapshot:
    """The first snapshot of bags of a run by their numbers, those that voted unless given: its files."""
    numbers = range(len(run)) if numbers is None else numbers
    records, results = [run.all_bags[number] for number in numbers], [run.read_bag_votes(one) for one in numbers]
    scores, selected, thresholds = (
        np.concatenate([one[name] for one in results]) for name in ("scores", "selected", "thresholds")
    )
    return make_snapshot(
        np.concatenate([[0], np.cumsum([record.n_segments for record in records])]).astype(np.int64),
        np.concatenate([run.read_segments(number)["areas"] for number in numbers]),
        np.array([record.bag_label == WITH for record in records]),
        scores,
        selected,
        thresholds,
        np.array([record.uncertainty for record in records]),
        np.array([record.area for record in records]),
        np.array([number < len(run) for number in numbers]),
    )


def find_written(run: Run, actions: Sequence[Action], state: ReviewState) -> Snapshot:
    """The snapshot from which the files of a run were written, when it is opened.

    The key of the run tells whether that was with these corrections; if not, the labels and painted pixels of images
    in the log at that time are unknown.
    """
    written, corrections = open_snapshot(run), state.corrections
    if make_run_key(run, corrections) == run.record.key:
        return replace(written, user_labels=state.user.user_labels, painted=state.user.painted)
    touched = {action.image for action in actions}
    return replace(written, painted=np.array([-1 if record.digest in touched else 0 for record in run.bags]))
