"""From a log of clicks to what `annotate` is told: which segments have a user label, which images another bag label.

Corrections are kept as pixels, so they outlive the segments they were made on: on any other segmentation a segment
takes the value that more than half of its pixels were given.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from segvote.io.arrays import read_arrays
from segvote.io.images import resize_labels
from segvote.io.rle import decode_rle
from segvote.run.bags import Bag
from segvote.run.correction_log import Action, read_actions
from segvote.run.run_folder import RunFolder, make_key
from segvote.run.segmented_image import SegmentedImage
from segvote.types import WITH, WITHOUT

__all__ = ["Corrections", "fix_segments", "fix_table", "move_bags", "read_corrections", "replay"]

UNDECIDED = -1
TAGS = {1: WITH, 0: WITHOUT}


@dataclass(frozen=True)
class Corrections:
    """What stands after every undo.

    Attributes
    ----------
    strokes
        Image digest to its *set* actions, the oldest first.
    looked
        Digests of images the user has looked at and accepted.
    moved
        Image digest to the bag label the user gave it.
    n_undo, n_redo
        How many actions can be undone and redone.
    last
        Number of the last action of the log.
    """

    strokes: dict[str, list[Action]] = field(default_factory=dict)
    looked: frozenset[str] = frozenset()
    moved: dict[str, str] = field(default_factory=dict)
    n_undo: int = 0
    n_redo: int = 0
    last: int = 0

    @property
    def digest(self) -> str:
        """Name of all that can change a mask; empty where nothing was corrected."""
        strokes = {
            image: [(one.value, one.height, one.width, one.counts) for one in actions]
            for image, actions in self.strokes.items()
        }
        return make_key(strokes=strokes, moved=self.moved) if strokes or self.moved else ""


def replay(actions: Iterable[Action]) -> Corrections:
    """Go through a log; `undo` takes back the last action that stands, `redo` the last `undo`."""
    standing, undone, last = _replay_stacks(actions)
    strokes: dict[str, list[Action]] = {}
    looked: dict[str, int] = {}
    moved: dict[str, str] = {}
    for action in standing:
        if action.kind == "set":
            strokes.setdefault(action.image, []).append(action)
        elif action.kind == "look":
            looked[action.image] = action.value
        else:
            moved[action.image] = TAGS[action.value]
    seen = frozenset(image for image, value in looked.items() if value)
    return Corrections(strokes, seen, moved, len(standing), len(undone), last)


def _replay_stacks(actions: Iterable[Action]) -> tuple[list[Action], list[Action], int]:
    standing: list[Action] = []
    undone: list[Action] = []
    last = 0
    for action in actions:
        last = action.number
        if action.kind == "undo":
            if standing:
                undone.append(standing.pop())
        elif action.kind == "redo":
            if undone:
                standing.append(undone.pop())
        else:
            standing.append(action)
            undone.clear()
    return standing, undone, last


def read_corrections(run: RunFolder) -> Corrections:
    """The corrections in this run folder so far."""
    return replay(read_actions(run.corrections_path))


def move_bags(bags: Sequence[Bag], corrections: Corrections) -> list[Bag]:
    """Give bags the bag label the user chose; name and file stay what they are."""
    return [replace(bag, bag_label=corrections.moved.get(bag.digest, bag.bag_label)) for bag in bags]


def fix_table(run: RunFolder, bags: Sequence[SegmentedImage], corrections: Corrections) -> np.ndarray | None:
    """(n_segments,) int8 over all bags in order: -1 unknown, 0 background, 1 object; None where nothing is known."""
    fixed = [np.full(bag.n_segments, UNDECIDED, dtype=np.int8) for bag in bags]
    for index, bag in enumerate(bags):
        strokes = corrections.strokes.get(bag.bag.digest)
        if strokes:
            labels = read_arrays(run.segments_path(bag.segments_key))["labels"]
            fixed[index] = fix_segments(strokes, labels, bag.n_segments)
    flat = np.concatenate(fixed)
    return flat if (flat != UNDECIDED).any() else None


def fix_segments(strokes: Sequence[Action], labels: np.ndarray, n_segments: int = 0) -> np.ndarray:
    """The user label of each segment.

    Parameters
    ----------
    strokes
        *set* actions on one image, the oldest first; later ones lie above earlier ones.
    labels
        (h, w) segment ids 0 .. n-1, of any size.
    n_segments
        How many there are, where `labels` does not show the last ones: a frame of a video.

    Returns
    -------
    (n,) int8: 0 or 1 where more than half of the segment's pixels were given it, -1 elsewhere.
    """
    pixels = paint(strokes, labels.shape).ravel()  # type: ignore[arg-type]
    flat = labels.ravel()
    areas = np.bincount(flat, minlength=n_segments)
    fixed = np.full(len(areas), UNDECIDED, dtype=np.int8)
    for value in (0, 1):
        covered = np.bincount(flat, weights=pixels == value, minlength=len(areas))
        fixed[2 * covered > areas] = value
    return fixed


def paint(strokes: Sequence[Action], size: tuple[int, int]) -> np.ndarray:
    """(h, w) int8 picture of strokes laid over each other."""
    canvas = np.full(size, UNDECIDED, dtype=np.int8)
    for stroke in strokes:
        mask = decode_rle({"size": [stroke.height, stroke.width], "counts": stroke.counts})
        canvas[resize_labels(mask, size)] = stroke.value
    return canvas
