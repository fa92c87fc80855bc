"""What a user does in a review: actions, each written to the log before it is shown, and the masks as they stand.

Nothing here votes. `segvote.review.engine.Engine` does, on what this class holds: the run, the log, and the snapshot
that all pages see.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Sequence
from typing import Any

import numpy as np

from segvote.errors import BadInputError, BusyRunError, SegvoteError
from segvote.io.encodings.rle import encode_rle
from segvote.io.images import resize_labels
from segvote.masks import Superpixels
from segvote.review.encoding import scale_bag
from segvote.review.masks import PAGE_SIZE, Masks, check_divides, encode_instances, find_joined
from segvote.review.pictures import Frames
from segvote.review.smart_click import find_region
from segvote.review.snapshot import Snapshot, UserInput, apply_user, make_snapshot, note_written
from segvote.review.strokes import PLACES, Stroke, draw_stroke, reshape_region, snap_to_superpixels, trace_outline
from segvote.review.user_input import UserReader, find_written
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
    """A run under review. Every action returns its number, after it is on the disk.

    Parameters
    ----------
    run
        A finished run.
    """

    def __init__(self, run: Run) -> None:
        self.run = run
        self.log = CorrectionLog(run.folder.corrections_path, PATIENCE_SECONDS)
        self.voting, self.masks, self.frames = Voting(run), Masks(run), Frames(run)
        # Held from reading the log, or a snapshot, to replacing the snapshot.
        self._publishing = threading.RLock()
        self._reader = UserReader(run)
        self._offer = (0, 0)  # the last stroke, and the extent that would have added the same
        actions = self.log.read()
        self.corrections: Corrections = replay(actions)
        self.snapshot = _open_snapshot(run)
        user, corrections = self._read_log()
        self.snapshot = note_written(self.snapshot, find_written(run, actions, corrections, user))

    def set_segments(self, bag: int, segments: list[int], value: int, frame: int = -1) -> int:
        """Label segments of a bag object (1), background (0) or undecided (-1).

        Parameters
        ----------
        bag, segments, value
            Which, and what they are.
        frame
            Of a video, the number of the frame in its source on which they were clicked; -1: the poster, or an image.
        """
        labels = self.frames.read_labels(self.check_bag(bag), frame)
        n_segments = self.run.bags[bag].n_segments
        if not segments or min(segments) < 0 or max(segments) >= n_segments:
            raise BadInputError(f"expected segments 0 to {n_segments - 1} of image {bag}; got {segments[:5]}")
        pixels = np.isin(labels, segments)
        if not pixels.any():
            raise BadInputError(f"expected segments that the frame shown has; {segments[:5]} lie in other frames")
        if frame >= 0:
            # The log keeps pixels of the key frame: what is carried to other frames follows from them.
            frame, labels = self.frames.find_key(bag, frame, segments[0])
            pixels = np.isin(labels, segments)
        action = self._make_stroke("set", bag, value, pixels, frame)
        return self._append_region(action, bag, labels, pixels)

    def paint(self, bag: int, stroke: Stroke, value: int) -> int:
        """Call the pixels of a stroke object (1), background (0) or undecided (-1)."""
        record, labels = self.run.bags[self._check_painted(bag)], self.run.read_segments(bag)["labels"]
        if stroke.tool == "smart":
            pixels = self._find_smart(bag, stroke.points[0], value)
        else:
            empty = np.zeros((record.height, record.width), dtype=bool)
            pixels = draw_stroke(stroke, self.draw_mask(bag) if stroke.tool == "fill" else empty, value)
        if stroke.snap and stroke.tool not in PLACES:
            snaps = labels if self.run.drawing.way == "segments" else self._read_superpixels(bag).labels
            pixels = snap_to_superpixels(pixels, stroke, snaps)
        return self._append_region(self._make_stroke("paint", bag, value, pixels), bag, labels, pixels)

    def _check_painted(self, bag: int) -> int:
        if self.run.bags[self.check_bag(bag)].n_frames:
            raise BadInputError("pixels of videos cannot be painted; click segments instead (S)")
        return bag

    def _read_superpixels(self, bag: int) -> Superpixels:
        """The fine superpixels along which masks are drawn."""
        labels, key = self.run.read_segments(bag)["labels"], self.run.bags[bag].segments
        return fetch_superpixels(self.run.folder, key, labels, self.run.find_image(bag))

    def _find_smart(self, bag: int, point: np.ndarray, value: int) -> np.ndarray:
        """(height, width) bool: see `find_region`."""
        snapshot, strokes = self._get_drawn(bag)
        mask, heat = self.masks.draw(snapshot, strokes, bag), scale_bag(snapshot, bag)
        return find_region(self._read_superpixels(bag), mask, heat, point, value)

    def trace_outline(self, bag: int, x: int, y: int) -> np.ndarray:
        """(n, 2) corners of the outline of the object at a pixel of an image."""
        return trace_outline(self.draw_mask(self._check_painted(bag)), np.array([x, y]))

    def reshape(self, bag: int, place: np.ndarray, corners: np.ndarray) -> int:
        """Give the object at a place of an image the outline with these corners (n, 2)."""
        added, removed = reshape_region(self.draw_mask(self._check_painted(bag)), place, corners)
        painted = [(1, added), (0, removed)]
        strokes = [self._make_stroke("paint", bag, value, pixels) for value, pixels in painted if pixels.any()]
        if not strokes:
            raise BadInputError("the outline is as it was; drag a corner of it")
        return self._append(*strokes)

    def cut(self, bag: int, points: np.ndarray) -> int:
        """Divide the instances that a line (n, 2), from edge to edge, passes through; the mask stays as it is."""
        record = self.run.bags[self._check_image(bag)]
        line = draw_stroke(Stroke("brush", points), np.zeros((record.height, record.width), dtype=bool), 0)
        action = self._make_stroke("cut", bag, 0, line)
        check_divides(self.draw_mask(bag), self._get_divisions(bag), action)
        return self._append(action)

    def join(self, bag: int, places: np.ndarray) -> int:
        """Make one instance of those that lie under places (n, 2) x and y of the image."""
        return self._append(self._make_stroke("join", bag, 1, find_joined(self.label_instances(bag), places)))

    def _check_image(self, bag: int) -> int:
        if self.run.bags[self.check_bag(bag)].n_frames:
            raise BadInputError(
                "objects of videos are the connected regions of each frame; a cut on one says nothing about the others"
            )
        return bag

    def label_instances(self, bag: int) -> np.ndarray:
        """(height, width) int32: the instances of an image as `export --instances` would write them now."""
        self._check_image(bag)
        return label_instances(self.draw_mask(bag), self._get_divisions(bag))

    def clear(self, bags: Sequence[int]) -> int:
        """Say that images show nothing: all their pixels are background."""
        sizes = {bag: (self.run.bags[self.check_bag(bag)].height, self.run.bags[bag].width) for bag in bags}
        if any(self.run.bags[bag].n_frames for bag in bags):
            raise BadInputError("pixels of videos cannot be painted; move the video to the other folder instead (M)")
        return self._append(*(self._make_stroke("paint", bag, 0, np.ones(sizes[bag], dtype=bool)) for bag in bags))

    def accept(self, bags: Sequence[int], accepted: bool) -> int:
        """Say that images were looked at and are right as they are (or take that back)."""
        return self._append(*(self._make_action("look", bag, int(accepted)) for bag in bags))

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

    def list_levels(self) -> np.ndarray:
        """(n_bags,) extent of each image."""
        digests = [record.digest for record in self.run.bags]
        return self.corrections.list_levels(digests, self.run.settings.extent)

    def get_wider(self, action: int) -> int:
        """The extent that would have added what the last action added, see `find_wider`; 0: none, or another action."""
        number, wider = self._offer
        return wider if number == action else 0

    def _append_region(self, action: Action, bag: int, labels: np.ndarray, pixels: np.ndarray) -> int:
        """Append a stroke (h, w) on the segments (h, w) of an image, and note the wider extent that has the same."""
        wider = 0
        if action.value == 1 and self.voting.is_open:
            n_segments, part = self.run.bags[bag].n_segments, self.snapshot.get_slice(bag)
            added = np.bincount(labels[resize_labels(pixels, labels.shape)], minlength=n_segments)  # type: ignore[arg-type]
            levels = self.voting.get_voted().extents.levels[part]
            wider = find_wider(levels, self.snapshot.decisions[part], int(self.list_levels()[bag]), added)
        number = self._append(action)
        self._offer = (number, wider)
        return number

    def undo(self, expected: int) -> int:
        """Take back the last action; `expected` is the last one the page knew of."""
        return self._append_after("undo", expected)

    def redo(self, expected: int) -> int:
        return self._append_after("redo", expected)

    def _append_after(self, kind: str, expected: int) -> int:
        try:
            number = self.log.append(Action(kind), expected)
        except BusyRunError:
            self._show_actions()  # the page learns what it missed, and can repeat
            raise
        self._show_actions()
        return number

    def _append(self, *actions: Action) -> int:
        if not actions:
            raise BadInputError("expected at least one image; got none")
        number = self.log.append_all(actions)
        self._show_actions()
        return number

    def _make_action(self, kind: str, bag: int, value: int, **pixels: Any) -> Action:
        record = self.run.bags[self.check_bag(bag)]
        return Action(kind, record.digest, record.name, value, **pixels)

    def _make_stroke(self, kind: str, bag: int, value: int, pixels: np.ndarray, frame: int = -1) -> Action:
        if value not in (-1, 0, 1):
            raise BadInputError(f"expected 1 object, 0 background or -1 undecided; got {value}")
        height, width = pixels.shape
        counts = str(encode_rle(pixels)["counts"])
        return self._make_action(kind, bag, value, height=height, width=width, counts=counts, frame=frame)

    def _show_actions(self) -> None:
        """Show what is in the log at once."""
        # The action is saved; what cannot be read now is read later.
        with contextlib.suppress(SegvoteError):
            self._read_log()

    def check_bag(self, bag: int) -> int:
        if not 0 <= bag < len(self.run):
            raise BadInputError(f"expected an image from 0 to {len(self.run) - 1}; got {bag}")
        return bag

    def _read_log(self) -> tuple[UserInput, Corrections]:
        """Read the log and show what it says, before it is voted on."""
        with self._publishing:
            corrections = replay(self.log.read())
            user = self._reader.read(corrections)
            self.corrections = corrections
            self.snapshot = apply_user(self.snapshot, user)
            return user, corrections

    # Masks as they stand.

    def _get_divisions(self, bag: int) -> Sequence[Action]:
        return self.corrections.divisions.get(self.run.bags[bag].digest, [])

    def encode_instances(self, bag: int, longest: int = PAGE_SIZE) -> bytes:
        """The instances of an image for the page, the longer side of their map at most `longest`."""
        return encode_instances(self.label_instances(bag), longest)

    def encode_mask(self, bag: int, longest: int = PAGE_SIZE) -> bytes:
        """The mask of an image as an export would write it now, the longer side at most `longest`."""
        return self.masks.encode(*self._get_drawn(bag), bag, longest)

    def encode_small_mask(self, bag: int) -> bytes:
        """The mask of an image at the size of a thumbnail; by whole segments until it has been drawn."""
        return self.masks.encode_small(*self._get_drawn(bag), bag)

    def draw_mask(self, bag: int) -> np.ndarray:
        """(height, width) bool: the same at the size of the image."""
        return self.masks.draw(*self._get_drawn(bag), bag)

    def _get_drawn(self, bag: int) -> tuple[Snapshot, Sequence[Action]]:
        with self._publishing:
            return self.snapshot, self.corrections.strokes.get(self.run.bags[self.check_bag(bag)].digest, [])


def _open_snapshot(run: Run) -> Snapshot:
    votes = run.votes
    areas = np.concatenate([run.read_segments(bag)["areas"] for bag in range(len(run))])
    positive = np.array([record.bag_label == WITH for record in run.bags])
    covered = np.array([record.area for record in run.bags])
    scores, decisions, thresholds = votes["scores"], votes["decisions"], votes["thresholds"]
    uncertainty = np.array([record.uncertainty for record in run.bags])
    return make_snapshot(run.offsets, areas, positive, scores, decisions, thresholds, covered, uncertainty)
