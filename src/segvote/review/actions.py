"""Actions of a review: checked, written to the log, then shown."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from segvote.errors import BadInputError, BusyRunError, SegvoteError
from segvote.io.encodings.polygons import rasterise
from segvote.io.encodings.rle import encode_rle
from segvote.io.images import resize_labels
from segvote.masks import Superpixels
from segvote.pipeline.extent import check_extent
from segvote.pipeline.superpixels import fetch_superpixels
from segvote.review.board import Board
from segvote.review.current_masks import CurrentMasks
from segvote.review.encoding import scale_bag
from segvote.review.masks import check_divides, find_joined
from segvote.review.model_click import ModelClick
from segvote.review.pictures import Frames
from segvote.review.smart_click import find_region
from segvote.review.strokes import PLACES, Points, check_stroke, draw_stroke, snap_to_superpixels
from segvote.review.voting import find_offer
from segvote.run.alternatives import check_alternative
from segvote.run.correction_log import Action
from segvote.types import WITH, WITHOUT

# Images that an audit hands out.
N_AUDITED = 10


class Actions:
    """Actions of the user: each is checked, appended to the log, and shown. Returns its number once it is on the disk.

    `list_selections` gives what each alternative selects, (n_alternatives, n_segments), and raises `BusyRunError`
    before the first vote; `notify` is called after every action.
    """

    def __init__(
        self,
        board: Board,
        masks: CurrentMasks,
        frames: Frames,
        model: ModelClick,
        list_selections: Callable[[], np.ndarray],
        notify: Callable[[], None] = lambda: None,
    ) -> None:
        self.board, self.masks, self.frames, self.model = board, masks, frames, model
        self.run, self._list_selections, self._notify = board.run, list_selections, notify
        self._moving = threading.Lock()  # two moves at once could leave a folder without images
        self._offer = (0, -1)  # number of the last region that was added, and the alternative that has it

    def set_segments(self, bag: int, segments: list[int], value: int, frame: int = -1) -> int:
        """Label segments of a bag object (1), background (0) or undecided (-1).

        `frame` is the number, in its source, of the frame of a video on which they were clicked; -1: the poster, or an
        image.
        """
        labels = self.frames.read_labels(self.board.check_bag(bag), frame)
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
        record, stroke = self.run.bags[self.board.check_image(bag)], check_stroke(tool, points, radius)
        labels = self.run.read_segments(bag)["labels"]
        if tool == "smart":
            mask, heat = self.masks.draw_mask(bag), scale_bag(self.board.snapshot, bag)
            pixels = find_region(self._read_superpixels(bag), mask, heat, stroke.points[0], value)
        else:
            empty = np.zeros((record.height, record.width), dtype=bool)
            pixels = draw_stroke(stroke, self.masks.draw_mask(bag) if tool == "fill" else empty, value)
        if snap and tool not in PLACES:
            superpixels = labels if self.run.drawing.way == "segments" else self._read_superpixels(bag).labels
            pixels = snap_to_superpixels(pixels, stroke, superpixels)
        return self._append_region(self._make_stroke("paint", bag, value, pixels), bag, labels, pixels)

    def take(self, bag: int, points: Points, level: int, value: int) -> int:
        """Label the model's part (1), object (2) or whole (3) at a point, or in a box of two corners."""
        pixels = self.model.draw(self.board.check_image(bag), points, level)
        labels = self.run.read_segments(bag)["labels"]
        return self._append_region(self._make_stroke("paint", bag, value, pixels), bag, labels, pixels)

    def _append_region(self, action: Action, bag: int, labels: np.ndarray, pixels: np.ndarray) -> int:
        """Append a stroke (height, width) on the segments (h, w) of a bag, and note the alternative that has it."""
        offer = -1
        with contextlib.suppress(BusyRunError):  # before the first vote nothing can be offered
            selections, chosen = self._list_selections(), self.board.corrections.alternative
            if action.value == 1 and chosen < len(selections):
                snapshot, segments = self.board.snapshot, labels[resize_labels(pixels, labels.shape)]
                part = snapshot.get_slice(bag)
                offer = find_offer(selections[:, part], snapshot.selected[part], chosen, segments)
        number = self._append(action)
        self._offer = (number, offer)
        return number

    def get_offer(self, number: int) -> int:
        """The alternative that has the region which an action added, by the number of the action; -1: none."""
        return self._offer[1] if self._offer[0] == number else -1

    def reshape(self, bag: int, outline: Points, points: Points) -> int:
        """Label the pixels between an outline and the same with moved corners: object outside it, background inside."""
        record = self.run.bags[self.board.check_image(bag)]
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
        record = self.run.bags[self.board.check_image(bag)]
        empty = np.zeros((record.height, record.width), dtype=bool)
        action = self._make_stroke("cut", bag, 0, draw_stroke(check_stroke("brush", points), empty, 0))
        check_divides(self.masks.draw_mask(bag), self.board.get_divisions(bag), action, self.masks.objects)
        return self._append(action)

    def join(self, bag: int, points: Points) -> int:
        """Make one instance of those under points of the image."""
        places = check_stroke("brush", points).points
        return self._append(self._make_stroke("join", bag, 1, find_joined(self.masks.label_instances(bag), places)))

    def clear(self, bags: Sequence[int]) -> int:
        """Label all pixels of images background."""
        sizes = {bag: (self.run.bags[self.board.check_image(bag)].height, self.run.bags[bag].width) for bag in bags}
        return self._append(*(self._make_stroke("paint", bag, 0, np.ones(sizes[bag], dtype=bool)) for bag in bags))

    def accept(self, bags: Sequence[int], value: bool) -> int:
        """Accept the masks of images as they are shown, or take that back; an accepted *with* image is finished."""
        return self._append(*(self._make_acceptance(bag, value) for bag in bags))

    def _make_acceptance(self, bag: int, value: bool) -> Action:
        if not value or self.run.bags[self.board.check_bag(bag)].n_frames or not self.board.snapshot.positive[bag]:
            return self._make_action("accept", bag, int(value))
        return self._make_stroke("accept", bag, 1, self.masks.draw_mask(bag))

    def audit(self) -> list[int]:
        """Draw *with* images at random, of those that were not accepted, to be finished one after the other.

        Returns their numbers. They are marked in the log: an estimate from them holds for all images.
        """
        snapshot = self.board.snapshot
        waiting = np.flatnonzero(snapshot.positive & ~snapshot.accepted & snapshot.is_voter).tolist()
        open_images = [bag for bag in waiting if not self.run.bags[bag].n_frames]
        if not open_images:
            raise BadInputError("expected images that are not accepted; every image of this run is accepted already")
        drawn = np.random.default_rng().permutation(open_images)[:N_AUDITED].tolist()
        self._append(*(self._make_action("audit", bag, 1) for bag in drawn))
        return drawn

    def choose_alternative(self, number: int) -> int:
        """Choose what the masks show, by the number of an alternative; 0: the vote itself.

        A repeated choice is one action.
        """
        check_alternative(number, len(self._list_selections()))
        if self.board.corrections.alternative == number:
            return self.board.corrections.last
        return self._append(Action("alternative", value=number))

    def move(self, bags: Sequence[int], bag_label: str) -> int:
        """Give bags the other bag label, in the run's record; the user's files stay where they are."""
        if bag_label not in (WITH, WITHOUT):
            raise BadInputError(f"expected the bag label {WITH} or {WITHOUT}; got {bag_label!r}")
        with self._moving:
            self.board.catch_up()
            snapshot, moved = self.board.snapshot, [self.board.check_bag(bag) for bag in bags]
            positive = snapshot.positive.copy()
            positive[moved] = bag_label == WITH
            positive = positive[snapshot.is_voter]  # of those that vote for certain
            if positive.all() or not positive.any():
                raise BadInputError("the last image of a folder cannot be moved: a vote needs both kinds")
            return self._append(*(self._make_action("move", bag, int(bag_label == WITH)) for bag in bags))

    def choose_extent(self, extent: int, bags: Sequence[int] = ()) -> int:
        """Choose how much of the object the masks cover, 1 to `N_EXTENTS`; of all images where `bags` is empty."""
        check_extent(extent)
        return self._append(
            *([self._make_action("extent", bag, extent) for bag in bags] or [Action("extent", value=extent)])
        )

    def undo(self, expected: int) -> int:
        """Take back the last action; `expected` is the last one in the page."""
        return self._append(Action("undo"), expected=expected)

    def redo(self, expected: int) -> int:
        return self._append(Action("redo"), expected=expected)

    def _append(self, *actions: Action, expected: int | None = None) -> int:
        try:
            return self.board.log.append(*actions, expected=expected)
        finally:
            # A page that missed an action gets it, and can repeat. An action that is saved is read later where the log
            # cannot be read now.
            with contextlib.suppress(SegvoteError):
                self.board.catch_up()
            self._notify()

    def _make_action(self, kind: str, bag: int, value: int, **pixels: Any) -> Action:
        record = self.run.bags[self.board.check_bag(bag)]
        return Action(kind, record.digest, record.name, value, **pixels)

    def _make_stroke(self, kind: str, bag: int, value: int, pixels: np.ndarray, frame: int = -1) -> Action:
        height, width = pixels.shape
        counts = str(encode_rle(pixels)["counts"])
        return self._make_action(kind, bag, value, height=height, width=width, counts=counts, frame=frame)
