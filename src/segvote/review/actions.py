"""Actions of a review, each written to the log before it is shown, and the masks as they stand.

Nothing here votes: `segvote.review.engine.Engine` does, on the run, the log and the snapshot of this class.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Sequence
from typing import Any

import numpy as np

from segvote.errors import BadInputError, BusyRunError, SegvoteError
from segvote.io.encodings.polygons import rasterise
from segvote.io.encodings.rle import encode_rle
from segvote.io.images import resize_labels
from segvote.masks import Superpixels
from segvote.review.encoding import scale_bag
from segvote.review.masks import Masks, check_divides, encode_instances, find_joined
from segvote.review.pictures import Frames
from segvote.review.smart_click import find_region
from segvote.review.snapshot import Snapshot, UserInput, apply_user, note_written
from segvote.review.strokes import PLACES, Points, check_stroke, draw_stroke, snap_to_superpixels, trace_outline
from segvote.review.user_input import UserReader, find_written, open_snapshot
from segvote.review.voting import Voting, find_wider
from segvote.run.correction_log import Action, CorrectionLog
from segvote.run.corrections import Corrections, replay
from segvote.run.run import Run
from segvote.run.strokes import label_instances
from segvote.steps.drawing.superpixels import fetch_superpixels
from segvote.steps.extent import check_level
from segvote.types import WITH, WITHOUT

# How long an action waits for another process that writes to the log; the page shows the error and can try again.
PATIENCE_SECONDS = 2.0


class Actions:
    """A finished run under review. Every action returns its number, after it is on the disk."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self.log = CorrectionLog(run.folder.corrections_path, PATIENCE_SECONDS)
        self.voting, self.masks, self.frames = Voting(run), Masks(run), Frames(run)
        # Held from reading the log, or a snapshot, to replacing the snapshot.
        self._publishing = threading.RLock()
        self._reader = UserReader(run)
        self._offer = (0, 0)  # number of the last region that was added, and the wider extent that has it
        self.snapshot = open_snapshot(run)
        user, self.corrections = self._read_log()
        self.snapshot = note_written(self.snapshot, find_written(run, self.log.read(), self.corrections, user))

    def set_segments(self, bag: int, segments: list[int], value: int, frame: int = -1) -> int:
        """Label segments of a bag object (1), background (0) or undecided (-1).

        `frame` is the number, in its source, of the frame of a video on which they were clicked; -1: the poster, or an
        image.
        """
        labels = self.frames.read_labels(self.check_bag(bag), frame)
        n_segments = self.run.bags[bag].n_segments
        if not segments or min(segments) < 0 or max(segments) >= n_segments:
            raise BadInputError(f"expected segments 0 to {n_segments - 1} of image {bag}; got {segments[:5]}")
        pixels = np.isin(labels, segments)
        if not pixels.any():
            raise BadInputError(f"expected segments that the frame shown has; {segments[:5]} lie in other frames")
        if frame >= 0:
            # The log keeps pixels of the key frame, from which those of other frames follow.
            frame, labels = self.frames.find_key(bag, frame, segments[0])
            pixels = np.isin(labels, segments)
        return self._append_region(self._make_stroke("set", bag, value, pixels, frame), bag, labels, pixels)

    def paint(self, bag: int, tool: str, points: Points, value: int, radius: float = 0.5, snap: bool = False) -> int:
        """Label the pixels of a stroke object (1), background (0) or undecided (-1); `snap`: along fine superpixels."""
        record, stroke = self.run.bags[self._check_image(bag)], check_stroke(tool, points, radius)
        labels = self.run.read_segments(bag)["labels"]
        if tool == "smart":
            snapshot, strokes = self._get_drawn(bag)
            mask, heat = self.masks.draw(snapshot, strokes, bag), scale_bag(snapshot, bag)
            pixels = find_region(self._read_superpixels(bag), mask, heat, stroke.points[0], value)
        else:
            empty = np.zeros((record.height, record.width), dtype=bool)
            pixels = draw_stroke(stroke, self.draw_mask(bag) if tool == "fill" else empty, value)
        if snap and tool not in PLACES:
            superpixels = labels if self.run.drawing.way == "segments" else self._read_superpixels(bag).labels
            pixels = snap_to_superpixels(pixels, stroke, superpixels)
        return self._append_region(self._make_stroke("paint", bag, value, pixels), bag, labels, pixels)

    def _append_region(self, action: Action, bag: int, labels: np.ndarray, pixels: np.ndarray) -> int:
        """Append a stroke (height, width) on the segments (h, w) of a bag, and note the wider extent that has it."""
        wider = 0
        if action.value == 1 and self.voting.is_open:
            part, level = self.snapshot.get_slice(bag), self.corrections.extent or self.run.settings.extent
            levels = self.voting.get_voted().extents.levels[part]
            segments = labels[resize_labels(pixels, labels.shape)]  # type: ignore[arg-type]
            wider = find_wider(levels, self.snapshot.decisions[part], level, segments)
        number = self._append(action)
        self._offer = (number, wider)
        return number

    def get_wider(self, number: int) -> int:
        """The extent of all images that would have added the region of the last action, by its number; 0: none."""
        return self._offer[1] if self._offer[0] == number else 0

    def trace_outline(self, bag: int, x: int, y: int) -> list[list[float]]:
        """Corners, x and y, of the outline of the object at a pixel of an image."""
        point = check_stroke("fill", [x, y])
        corners: list[list[float]] = trace_outline(self.draw_mask(self._check_image(bag)), point).tolist()
        return corners

    def reshape(self, bag: int, outline: Points, points: Points) -> int:
        """Label the pixels between an outline and the same with moved corners: object outside it, background inside."""
        record = self.run.bags[self._check_image(bag)]
        old, new = (
            rasterise([check_stroke("polygon", ring).points], record.height, record.width) for ring in (outline, points)
        )
        painted = [(1, new & ~old), (0, old & ~new)]
        strokes = [self._make_stroke("paint", bag, value, pixels) for value, pixels in painted if pixels.any()]
        if not strokes:
            raise BadInputError("the outline did not change; drag a corner of it")
        return self._append(*strokes)

    def _read_superpixels(self, bag: int) -> Superpixels:
        """The fine superpixels along which masks are drawn."""
        labels, key = self.run.read_segments(bag)["labels"], self.run.bags[bag].segments
        return fetch_superpixels(self.run.folder, key, labels, self.run.find_image(bag))

    def cut(self, bag: int, points: Points) -> int:
        """Divide the instances that a line, from edge to edge, passes through; the mask stays as it is."""
        record = self.run.bags[self._check_image(bag)]
        empty = np.zeros((record.height, record.width), dtype=bool)
        action = self._make_stroke("cut", bag, 0, draw_stroke(check_stroke("brush", points), empty, 0))
        check_divides(self.draw_mask(bag), self._get_divisions(bag), action)
        return self._append(action)

    def join(self, bag: int, points: Points) -> int:
        """Make one instance of those under points of the image."""
        places = check_stroke("brush", points).points
        return self._append(self._make_stroke("join", bag, 1, find_joined(self.label_instances(bag), places)))

    def clear(self, bags: Sequence[int]) -> int:
        """Label all pixels of images background."""
        sizes = {bag: (self.run.bags[self._check_image(bag)].height, self.run.bags[bag].width) for bag in bags}
        return self._append(*(self._make_stroke("paint", bag, 0, np.ones(sizes[bag], dtype=bool)) for bag in bags))

    def accept(self, bags: Sequence[int], value: bool) -> int:
        """Accept the masks of images, or take that back."""
        return self._append(*(self._make_action("look", bag, int(value)) for bag in bags))

    def move(self, bags: Sequence[int], bag_label: str) -> int:
        """Give bags the other bag label, in the run's record; the user's files stay where they are."""
        if bag_label not in (WITH, WITHOUT):
            raise BadInputError(f"expected the bag label {WITH} or {WITHOUT}; got {bag_label!r}")
        with self._publishing:
            self._read_log()
            positive = self.snapshot.positive.copy()
            positive[[self.check_bag(bag) for bag in bags]] = bag_label == WITH
            if positive.all() or not positive.any():
                raise BadInputError("the last image of a folder cannot be moved: a vote needs both kinds")
            return self._append(*(self._make_action("move", bag, int(bag_label == WITH)) for bag in bags))

    def choose_extent(self, level: int, bags: Sequence[int] = ()) -> int:
        """Choose how much of the object the masks cover, 1 to `N_LEVELS`; of all images where `bags` is empty."""
        check_level(level)
        return self._append(
            *([self._make_action("extent", bag, level) for bag in bags] or [Action("extent", value=level)])
        )

    def undo(self, expected: int) -> int:
        """Take back the last action; `expected` is the last one in the page."""
        return self._append(Action("undo"), expected=expected)

    def redo(self, expected: int) -> int:
        return self._append(Action("redo"), expected=expected)

    def _append(self, *actions: Action, expected: int | None = None) -> int:
        try:
            number = self.log.append(*actions, expected=expected)
        except BusyRunError:
            self._show_actions()  # a page that missed an action gets it, and can repeat
            raise
        self._show_actions()
        return number

    def _make_action(self, kind: str, bag: int, value: int, **pixels: Any) -> Action:
        record = self.run.bags[self.check_bag(bag)]
        return Action(kind, record.digest, record.name, value, **pixels)

    def _make_stroke(self, kind: str, bag: int, value: int, pixels: np.ndarray, frame: int = -1) -> Action:
        height, width = pixels.shape
        counts = str(encode_rle(pixels)["counts"])
        return self._make_action(kind, bag, value, height=height, width=width, counts=counts, frame=frame)

    def _show_actions(self) -> None:
        """Show the actions of the log at once."""
        # The action is saved; a log that cannot be read now is read later.
        with contextlib.suppress(SegvoteError):
            self._read_log()

    def check_bag(self, bag: int) -> int:
        if not 0 <= bag < len(self.run):
            raise BadInputError(f"expected an image from 0 to {len(self.run) - 1}; got {bag}")
        return bag

    def _check_image(self, bag: int) -> int:
        if self.run.bags[self.check_bag(bag)].n_frames:
            raise BadInputError(
                "videos are corrected by segments (S); a stroke or cut on one frame does not define others"
            )
        return bag

    def _read_log(self) -> tuple[UserInput, Corrections]:
        """Read the log and show its corrections, before they are voted on."""
        with self._publishing:
            corrections = replay(self.log.read())
            user = self._reader.read(corrections)
            self.corrections = corrections
            self.snapshot = apply_user(self.snapshot, user)
            return user, corrections

    # Masks as they stand.

    def _get_divisions(self, bag: int) -> Sequence[Action]:
        return self.corrections.divisions.get(self.run.bags[bag].digest, [])

    def label_instances(self, bag: int) -> np.ndarray:
        """(height, width) int32: the instances of an image as `export --instances` would write them now."""
        return label_instances(self.draw_mask(self._check_image(bag)), self._get_divisions(bag))

    def encode_instances(self, bag: int) -> bytes:
        return encode_instances(self.label_instances(bag))

    def encode_mask(self, bag: int) -> bytes:
        """The mask of an image as an export would write it now."""
        return self.masks.encode(*self._get_drawn(bag), bag)

    def encode_small_mask(self, bag: int) -> bytes:
        """The mask of an image at the size of a thumbnail; by whole segments until it has been drawn."""
        return self.masks.encode_small(*self._get_drawn(bag), bag)

    def draw_mask(self, bag: int) -> np.ndarray:
        """(height, width) bool: the mask at the size of the image."""
        return self.masks.draw(*self._get_drawn(bag), bag)

    def _get_drawn(self, bag: int) -> tuple[Snapshot, Sequence[Action]]:
        with self._publishing:
            return self.snapshot, self.corrections.strokes.get(self.run.bags[self.check_bag(bag)].digest, [])
