"""The part that votes while the page stays quick: threads that load the run, vote, and publish snapshots.

An action is written to the log first, and shown; then one thread reads what is new in the log, from this or another
page, and moves the scores of similar segments. A second thread holds the vote in which the corrections take part, which
takes longer, and replaces what the first one showed; actions meanwhile move scores at once and are voted on next. What
the page ends on is what `annotate` would write.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from segvote.errors import BadInputError, BusyRunError, SegvoteError
from segvote.io.encodings.rle import encode_rle
from segvote.io.images import resize_labels
from segvote.masks import SuperpixelMap
from segvote.review.encoding import scale_bag
from segvote.review.finishing import Estimate, Overlaps
from segvote.review.masks import Masks, check_divides, encode_instances, find_joined, measure_redrawn
from segvote.review.pictures import Frames
from segvote.review.smart_click import find_region
from segvote.review.snapshot import (
    Snapshot,
    UserInput,
    apply_user,
    apply_votes,
    drop_labels,
    make_snapshot,
    measure_disagreement,
    note_measured,
    note_signs,
    note_written,
)
from segvote.review.strokes import PLACES, Stroke, draw_stroke, reshape_region, snap_to_superpixels, trace_outline
from segvote.review.user_input import UserReader, find_written, read_written
from segvote.review.voting import Voting, find_wider
from segvote.run.correction_log import Action, CorrectionLog
from segvote.run.corrections import Corrections, replay
from segvote.run.run import Run
from segvote.run.strokes import label_instances
from segvote.steps.drawing.superpixels import fetch_superpixels
from segvote.steps.explain import SegmentExplanation
from segvote.steps.extent import check_level
from segvote.steps.reopening import Voted
from segvote.types import WITH, WITHOUT

# How long an action waits for another process that writes to the log; the page shows the error and can try again.
PATIENCE_SECONDS = 2.0
# How often the log is asked whether another process (a second server, `segvote import`) wrote to it.
POLL_SECONDS = 1.0


class Engine:
    """State of one review.

    Parameters
    ----------
    run
        A finished run.
    tell
        Called, from any thread, whenever there is something new.
    """

    def __init__(self, run: Run, tell: Callable[[], None] = lambda: None) -> None:
        self.run, self.tell = run, tell
        self.log = CorrectionLog(run.folder.corrections_path, PATIENCE_SECONDS)
        self.voting, self.masks, self.frames = Voting(run), Masks(run), Frames(run)
        self.status, self.problem = "loading", ""
        self.last_voted = -1  # number of the last action that was voted on
        self._wake = threading.Condition()
        # Held from reading the log, or a snapshot, to replacing the snapshot.
        self._publishing = threading.RLock()
        self._dirty, self._stop = True, False
        self._was_in_place = True  # the log, when the pages were told last
        self._overlaps = Overlaps(run)
        self._reader = UserReader(run)
        actions = self.log.read()
        self.corrections: Corrections = replay(actions)
        self.snapshot = _open_snapshot(run)
        user, corrections = self._read_log()
        self.snapshot = note_written(self.snapshot, find_written(run, actions, corrections, user))
        self._waiting = False  # for a vote
        self._offer = (0, 0)  # the last stroke, and the extent that would have added the same
        self._thread = threading.Thread(target=self._work, name="segvote-review", daemon=True)
        self._voter = threading.Thread(target=self._vote_on, name="segvote-vote", daemon=True)

    def start(self) -> None:
        self._thread.start()
        self._voter.start()

    def stop(self) -> None:
        with self._wake:
            self._stop = True
            self._wake.notify_all()
        for thread in (self._thread, self._voter):
            if thread.ident is not None:
                thread.join(timeout=5)
        self.log.close()

    # What a user does. Each returns the number of the action, after it is on the disk.

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

    def _read_superpixels(self, bag: int) -> SuperpixelMap:
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
            levels = self.voting.get_voted().corrected.extents.levels[part]
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
        """Show what is in the log at once, and let the thread vote on it."""
        # The action is saved; what cannot be read now is read by the thread.
        with contextlib.suppress(SegvoteError):
            self._read_log()
        self._mark_dirty()
        self.tell()

    def check_bag(self, bag: int) -> int:
        if not 0 <= bag < len(self.run):
            raise BadInputError(f"expected an image from 0 to {len(self.run) - 1}; got {bag}")
        return bag

    def _mark_dirty(self) -> None:
        with self._wake:
            self._dirty = True
            self._wake.notify_all()

    # The log.

    def _read_log(self) -> tuple[UserInput, Corrections]:
        """Read the log and show what it says, before it is voted on."""
        with self._publishing:
            corrections = replay(self.log.read())
            user = self._reader.read(corrections)
            self.corrections = corrections
            self.snapshot = apply_user(self.snapshot, user)
            return user, corrections

    # The thread.

    def _work(self) -> None:
        while self._wait():
            try:
                self._take_step()
            except Exception as error:  # the page must say so; the next action tries again
                self._fail(error)
            self._measure_masks()

    def _take_step(self) -> None:
        if not self.voting.is_open:
            self._load()
        self._move_similar()
        if self.voting.is_final and self.last_voted >= self.corrections.last:
            self._recover()
        with self._wake:
            self._waiting = self.last_voted < self.corrections.last
            self._wake.notify_all()

    def _recover(self) -> None:
        if self.status != "ready":
            self.status, self.problem = "ready", ""
            self.tell()

    def _vote_on(self) -> None:
        """The second thread: hold the vote that actions wait for."""
        while self._wait_for_vote():
            try:
                self.settle()
                self._recover()
            except Exception as error:  # as in the first thread
                self._fail(error)

    def _wait_for_vote(self) -> bool:
        with self._wake:
            self._wake.wait_for(lambda: self._waiting or self._stop)
            self._waiting = False
            return not self._stop

    def _fail(self, error: Exception) -> None:
        told = isinstance(error, SegvoteError)
        self.status, self.problem = "failed", str(error) if told else f"{type(error).__name__}: {error}"
        self._note(step="review failed", problem=self.problem)
        self.tell()

    def _note(self, **message: Any) -> None:
        """A line in the run's log; a disk that cannot take it must not end the review."""
        with contextlib.suppress(SegvoteError, OSError):
            if self.log.is_in_place():
                self.run.folder.log(**message)

    def _wait(self) -> bool:
        """Until there is something to vote on (True) or the review ends (False)."""
        while True:
            with self._wake:
                if not (self._dirty or self._stop):
                    self._wake.wait(POLL_SECONDS)
                if self._stop:
                    return False
                if self._dirty:
                    self._dirty = False
                    return True
            if self._has_grown():
                return True

    def _has_grown(self) -> bool:
        """Whether another process wrote to the log; one that was deleted is told to the pages."""
        if self.log.is_in_place() != self._was_in_place:
            self._was_in_place = not self._was_in_place
            self.tell()
        with contextlib.suppress(SegvoteError):
            return self.log.read_last() != self.corrections.last
        return False

    def _load(self) -> None:
        self.voting.open()
        held, signs = self.voting.get_voted().held, {}
        if held.voter is None:
            signs["disagreement"] = measure_disagreement(self.snapshot, held.vote.graph)
        elif (other := self.voting.ask_rival()) is not None:
            signs["disagreement"] = self.snapshot.measure_unlikeness(other)
        signs["redrawn"] = measure_redrawn(self.run, self.snapshot)
        with self._publishing:
            self.snapshot = note_signs(self.snapshot, **signs)

    def settle(self) -> Voted:
        """Vote on all that is in the log now, and hand out the outcome: what `annotate` would get."""
        self.voting.get_voted()
        user, corrections = self._read_log()
        started = time.perf_counter()
        voted = self.voting.vote(user, corrections)
        if self.last_voted < user.action:
            self._note(step="re-vote", action=user.action, seconds=round(time.perf_counter() - started, 4))
        self._move_similar()
        self.last_voted = max(self.last_voted, user.action)
        self._mark_dirty()  # the first thread draws what changed, and asks for a vote on what came meanwhile
        self.tell()
        return voted

    def _move_similar(self) -> None:
        """Show what is in the log now, as far as it can be told without a vote."""
        with self.voting.lock:
            user, corrections = self._read_log()
            voted = self.voting.vote_at_once(user, corrections)
            if voted is not None:
                result, graph = voted.result, voted.held.vote.graph if voted.held.voter is None else None
                with self._publishing:
                    votes = (result.scores, result.selected, result.thresholds, graph, result.uncertainty)
                    self.snapshot = apply_votes(self.snapshot, *votes)
                if self.voting.is_final:
                    self.last_voted = max(self.last_voted, user.action)
        self.tell()

    def _measure_masks(self) -> None:
        """Draw the masks that changed, one after the other, while there is nothing else to do."""
        with contextlib.suppress(SegvoteError, OSError):
            while not (self._dirty or self._stop):
                left = np.flatnonzero(~self.snapshot.is_measured)
                if len(left):
                    self._measure_mask(int(left[0]))
                elif not self._measure_next_overlap():
                    return

    def _measure_next_overlap(self) -> bool:
        """Compare one accepted mask with the automatic one; False where all were compared."""
        bag = self._overlaps.find_next(self.snapshot)
        if bag is None:
            return False
        snapshot, strokes = self._get_drawn(bag)
        result = self.voting.vote_without_labels()
        automatic = apply_votes(drop_labels(snapshot), result.scores, result.selected, result.thresholds)
        self._overlaps.measure(snapshot, bag, automatic, self.masks.draw(snapshot, strokes, bag))
        self.tell()
        return True

    def estimate_rest(self) -> Estimate | None:
        """How good the automatic masks are, judged by the accepted ones; None while too few are."""
        return self._overlaps.estimate(self.snapshot)

    def _measure_mask(self, bag: int) -> None:
        snapshot, strokes = self._get_drawn(bag)
        covered, change = self.masks.measure(snapshot, strokes, bag)
        with self._publishing:
            if self.snapshot.touched_at[bag] == snapshot.touched_at[bag]:
                self.snapshot = note_measured(self.snapshot, bag, covered, change)
        self.tell()

    def note_export(self, voted: Voted, run: Run) -> None:
        """Take note that the files of a run were written from a vote."""
        with self._publishing:
            user = self._reader.read(voted.opened.corrections)
            self.snapshot = note_written(self.snapshot, read_written(run, user))
        self._mark_dirty()

    # Questions.

    def _get_strokes(self, bag: int) -> Sequence[Action]:
        return self.corrections.strokes.get(self.run.bags[bag].digest, [])

    def _get_divisions(self, bag: int) -> Sequence[Action]:
        return self.corrections.divisions.get(self.run.bags[bag].digest, [])

    def encode_instances(self, bag: int, longest: int) -> bytes:
        """The instances of an image for the page, the longer side of their map at most `longest`."""
        return encode_instances(self.label_instances(bag), longest)

    def encode_mask(self, bag: int, longest: int) -> bytes:
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
            return self.snapshot, self._get_strokes(self.check_bag(bag))

    def explain(self, bag: int, segment: int) -> SegmentExplanation:
        """Which segments voted for a segment."""
        if not 0 <= segment < self.run.bags[self.check_bag(bag)].n_segments:
            raise BadInputError(f"image {bag} has {self.run.bags[bag].n_segments} segments; got {segment}")
        return self.voting.explain(bag, segment)


def _open_snapshot(run: Run) -> Snapshot:
    votes = run.votes
    areas = np.concatenate([run.read_segments(bag)["areas"] for bag in range(len(run))])
    positive = np.array([record.bag_label == WITH for record in run.bags])
    covered = np.array([record.area for record in run.bags])
    scores, decisions, thresholds = votes["scores"], votes["decisions"], votes["thresholds"]
    uncertainty = np.array([record.uncertainty for record in run.bags])
    return make_snapshot(run.offsets, areas, positive, scores, decisions, thresholds, covered, uncertainty)
