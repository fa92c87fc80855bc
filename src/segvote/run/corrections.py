"""Corrections replayed from the log: user labels of segments, exact pixels, images that changed folders.

Corrections are kept as pixels, so they outlive the segments they were made on. Clicked segments (*set*) give their
label to every segment of another segmentation that they cover by more than half. Painted pixels (*paint*) are exact:
they override the mask, label the segments that they cover nearly whole, and change similar segments of the others in
proportion to the share that they cover.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from segvote import __version__
from segvote.features.networks.sam import hash_refiner
from segvote.io.arrays import read_arrays
from segvote.run.bags import Bag
from segvote.run.correction_log import Action, read_actions
from segvote.run.record import MODEL_VERSION
from segvote.run.run_folder import RunFolder, make_key
from segvote.run.settings import Settings
from segvote.run.strokes import UNDECIDED, Canvas, decode_stroke
from segvote.run.videos import KeyFrames
from segvote.types import WITH, WITHOUT

# Raised when the same corrections lead to other masks.
CORRECTIONS_VERSION = 6
BAG_LABELS = {1: WITH, 0: WITHOUT}


@dataclass(frozen=True)
class Corrections:
    """The corrections that stand after every undo.

    Attributes
    ----------
    strokes
        Image digest to its *set* and *paint* actions, the oldest first.
    looked
        Digests of images that the user has looked at and accepted.
    moved
        Image digest to the bag label that the user gave it.
    divisions
        Image digest to its *cut* and *join* actions, the oldest first; they change no mask, see `label_instances`.
    extent
        Level of the nested selections for all images; 0: that of the settings.
    extents
        Image digest to the level chosen for it alone.
    n_undo, n_redo
        How many actions can be undone and redone.
    last
        Number of the last action of the log.
    """

    strokes: dict[str, list[Action]] = field(default_factory=dict)
    looked: frozenset[str] = frozenset()
    moved: dict[str, str] = field(default_factory=dict)
    divisions: dict[str, list[Action]] = field(default_factory=dict)
    extent: int = 0
    extents: dict[str, int] = field(default_factory=dict)
    n_undo: int = 0
    n_redo: int = 0
    last: int = 0

    @property
    def digest(self) -> str:
        """Key of the corrections that can change a mask; empty where there are none."""
        strokes = {
            image: [(one.value, one.height, one.width, one.counts, *_name_exact(one)) for one in actions]
            for image, actions in self.strokes.items()
        }
        if not (strokes or self.moved or self.extent or self.extents):
            return ""
        return make_key(strokes=strokes, moved=self.moved, extent=self.extent, extents=self.extents)

    def list_levels(self, digests: Sequence[str], default: int) -> np.ndarray:
        """(n_bags,) level of each image, by its digest."""
        whole = self.extent or default
        return np.array([self.extents.get(digest, whole) for digest in digests], dtype=np.int64)

    def list_changed(self, other: Corrections) -> set[str]:
        """Digests of the images whose corrections differ from those of another."""
        pairs = ((getattr(self, name), getattr(other, name)) for name in ("strokes", "moved", "divisions", "extents"))
        changed = {image for one, two in pairs for image in {*one, *two} if one.get(image) != two.get(image)}
        return changed | (self.looked ^ other.looked)


def _name_exact(action: Action) -> tuple[str | int, ...]:
    """Distinguishes painted pixels and frames from segments clicked on an image, for which it is empty."""
    return (*(("paint",) if action.kind == "paint" else ()), *((action.frame,) if action.frame >= 0 else ()))


def replay(actions: Iterable[Action]) -> Corrections:
    """Go through a log; `undo` takes back the last action or batch that stands, `redo` the last `undo`."""
    standing, undone, last = _replay_stacks(actions)
    strokes: dict[str, list[Action]] = {}
    looked: dict[str, int] = {}
    moved: dict[str, str] = {}
    divisions: dict[str, list[Action]] = {}
    extents: dict[str, int] = {}
    for action in standing:
        if action.kind in ("set", "paint"):
            strokes.setdefault(action.image, []).append(action)
        elif action.kind in ("cut", "join"):
            divisions.setdefault(action.image, []).append(action)
        elif action.kind == "look":
            looked[action.image] = action.value
        elif action.kind == "extent":
            # A choice for all images replaces those made for single ones before.
            extents = {**(extents if action.image else {}), action.image: action.value}
        else:
            moved[action.image] = BAG_LABELS[action.value]
    seen = frozenset(image for image, value in looked.items() if value)
    whole = extents.pop("", 0)
    return Corrections(strokes, seen, moved, divisions, whole, extents, len(standing), len(undone), last)


def _replay_stacks(actions: Iterable[Action]) -> tuple[list[Action], list[Action], int]:
    standing: list[Action] = []
    undone: list[Action] = []
    last = 0
    for action in actions:
        last = action.number
        if action.kind == "undo":
            _move_last(standing, undone)
        elif action.kind == "redo":
            _move_last(undone, standing)
        else:
            standing.append(action)
            undone.clear()
    return standing, undone, last


def _move_last(source: list[Action], target: list[Action]) -> None:
    """Move the last action from one stack to the other, with its batch."""
    if not source:
        return
    batch = source[-1].batch
    target.append(source.pop())
    while batch and source and source[-1].batch == batch:
        target.append(source.pop())


def read_corrections(run: RunFolder) -> Corrections:
    """The corrections of a run folder."""
    return replay(read_actions(run.corrections_path))


def make_result_key(settings: Settings, segmented: Sequence[Bag], corrections: Corrections) -> str:
    """Key of a run's result, made of its inputs. Corrections that were all undone leave no trace."""
    bags = [(one.name, one.features_key) for one in segmented]
    corrected = {"corrections": corrections.digest, "corrected": CORRECTIONS_VERSION} if corrections.digest else {}
    refined = {"refiner": hash_refiner(settings.refine)} if settings.refine else {}
    decided = {**corrected, **refined}
    return make_key(version=__version__, model=MODEL_VERSION, settings=settings.to_dict(), bags=bags, **decided)


def move_bags(bags: Sequence[Bag], corrections: Corrections) -> list[Bag]:
    """Bags with the bag labels that the user gave them; name and file stay."""
    return [replace(bag, bag_label=corrections.moved.get(bag.digest, bag.bag_label)) for bag in bags]


def label_segments(
    run: RunFolder, bags: Sequence[Bag], corrections: Corrections
) -> tuple[np.ndarray | None, np.ndarray | None]:
    """User labels and painted shares of all segments, see `label_bag`; None where there are none."""
    user_labels = [np.full(bag.n_segments, UNDECIDED, dtype=np.int8) for bag in bags]
    shares = [np.zeros(bag.n_segments) for bag in bags]
    for index, bag in enumerate(bags):
        if strokes := corrections.strokes.get(bag.digest):
            user_labels[index], shares[index] = label_bag(run, bag, strokes)
    return drop_empty(np.concatenate(user_labels), UNDECIDED), drop_empty(np.concatenate(shares), 0)


def drop_empty(values: np.ndarray, empty: int) -> np.ndarray | None:
    """The values, or None where all of them are `empty`."""
    return values if (values != empty).any() else None


def label_bag(run: RunFolder, bag: Bag, strokes: Sequence[Action]) -> tuple[np.ndarray, np.ndarray]:
    """User labels (n_segments,) int8 and painted shares (n_segments,) of an image or a video; see `Canvas`."""
    if bag.n_frames:
        keys = KeyFrames.open(run, bag.segments_key, bag.features_key)
        return _label_video(keys, strokes, bag.n_segments), np.zeros(bag.n_segments)
    labels = read_arrays(run.segments_path(bag.segments_key))["labels"]
    canvas = Canvas(labels.shape, strokes)
    return canvas.label_segments(labels, bag.n_segments), canvas.measure_painted(labels, bag.n_segments)


def _label_video(keys: KeyFrames, strokes: Sequence[Action], n_segments: int) -> np.ndarray:
    """(n_segments,) int8: the value of the last stroke that covers more than half of a segment in a key frame.

    A stroke on another frame counts for the nearest key frame.
    """
    user_labels = np.full(n_segments, UNDECIDED, dtype=np.int8)
    for stroke in strokes:
        labels = keys.read_labels(keys.find_nearest(stroke.frame))
        covered = np.bincount(labels.ravel(), weights=decode_stroke(stroke, labels.shape).ravel(), minlength=n_segments)
        user_labels[2 * covered > np.bincount(labels.ravel(), minlength=n_segments)] = stroke.value
    return user_labels
