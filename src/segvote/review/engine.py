"""A review at work: log -> state -> votes -> snapshot.

An action is written to the log, read from it once, and shown. The first thread propagates its labels to similar
segments; it also notices actions that other processes append. The vote thread then holds the vote in which the labels
take part, which takes longer, and replaces the propagated scores; actions meanwhile are propagated at once and voted on
next. The last snapshot is the one that `annotate` would write.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from segvote.errors import BadInputError, SegvoteError
from segvote.pipeline.corrected_vote import RunVote
from segvote.pipeline.explain import SegmentExplanation
from segvote.pipeline.lessons import LeftOutImages
from segvote.pipeline.vote import BaseVote
from segvote.review.actions import Actions
from segvote.review.board import Board
from segvote.review.current_masks import CurrentMasks
from segvote.review.masks import Masks, measure_redrawn
from segvote.review.model_click import ModelClick
from segvote.review.pictures import Frames
from segvote.review.shown_run import ShownRun
from segvote.review.snapshot import Snapshot, note_measured, note_redrawn
from segvote.review.state import ReviewState
from segvote.review.vote_thread import VoteThread
from segvote.review.voting import Voting
from segvote.run.correction_log import CorrectionLog
from segvote.run.estimate import ExpectedIoU
from segvote.run.run import Run

# How long an action waits for another process that writes to the log; the page shows the error and can try again.
PATIENCE_SECONDS = 2.0
# How often the log is checked for actions of other processes (a second server, `segvote import`).
POLL_SECONDS = 1.0


class Engine:
    """A review of a finished run with its votes; `tell` is called, from any thread, after every change.

    Attributes
    ----------
    board : Board
        The last state and snapshot.
    actions : Actions
        What a user can do.
    masks : CurrentMasks
        The masks of the last snapshot.
    model : ModelClick
        Part, object and whole at a place, by a promptable network.
    status, problem : str
        Of the votes: loading, ready or failed; the reason of the last failure.
    last_voted : int
        Number of the last action that was voted on.
    """

    def __init__(self, run: Run, tell: Callable[[], None] = lambda: None) -> None:
        self.run, self.tell = ShownRun(run), tell
        self.log = CorrectionLog(run.folder.corrections_path, PATIENCE_SECONDS)
        self.board, self.voting, self.frames = Board(self.run, self.log), Voting(self.run), Frames(self.run)
        self._masks, self._left_out = Masks(self.run), LeftOutImages()
        self.masks = CurrentMasks(self.board, self._masks)
        self.model = ModelClick(self.run, self.log.check_in_place)
        views = self.masks, self.frames, self.model
        self.actions = Actions(self.board, *views, self.voting.list_selections, self._show_action)
        self.status, self.problem, self.last_voted = "loading", "", -1
        self._asked: tuple[BaseVote | None, int] = (None, -1)  # of the last vote: the image to finish first
        self._wake = threading.Condition()
        self._dirty, self._stop = True, False  # there is a new state; the review ends
        self._vote_thread = VoteThread(self._vote_on, self._fail)
        self._thread = threading.Thread(target=self._work, name="segvote-review", daemon=True)

    @property
    def is_started(self) -> bool:
        return self._thread.ident is not None

    def start(self) -> None:
        """Start both threads, if they were not yet."""
        with self._wake:
            if not self.is_started:
                self._thread.start()
                self._vote_thread.start()

    def stop(self) -> None:
        with self._wake:
            self._stop = True
            self._wake.notify_all()
        if self.is_started:
            self._thread.join(timeout=5)
        self._vote_thread.stop()
        self.log.close()

    def _show_action(self) -> None:
        self._mark_dirty()
        self.tell()

    def _mark_dirty(self) -> None:
        with self._wake:
            self._dirty = True
            self._wake.notify_all()

    # The first thread.

    def _work(self) -> None:
        while self._wait():
            try:
                self._take_step()
            except Exception as error:  # shown on the page; the next action tries again
                self._fail(error)
            self._measure_masks()

    def _wait(self) -> bool:
        """Wait until there is something to vote on (True) or the review ends (False)."""
        while True:
            with self._wake:
                self._wake.wait_for(lambda: self._dirty or self._stop, POLL_SECONDS)
                if self._dirty or self._stop:
                    self._dirty = False
                    return not self._stop
            with contextlib.suppress(SegvoteError):
                if self.log.read_last() != self.board.state.last:
                    self.board.catch_up()
                    return True

    def _take_step(self) -> None:
        if not self.voting.is_open:
            self.voting.open(self.board.corrections)
            redrawn = measure_redrawn(self.run, self.board.snapshot)
            self.board.publish(lambda snapshot: note_redrawn(snapshot, redrawn))
        state = self._move_similar()
        if self.last_voted < state.last:
            self._vote_thread.submit(state)
        elif self.voting.is_final:
            self._recover()

    def _move_similar(self) -> ReviewState:
        """Propagate the labels of the last state to similar segments; returns the state."""
        with self.voting.lock:
            state = self.board.state
            run_vote = self.voting.vote_at_once(state)
            if run_vote is not None:
                self.board.publish(partial(self.voting.show, run_vote=run_vote))
                if self.voting.is_final:
                    self.last_voted = max(self.last_voted, state.last)
        self.tell()
        return state

    def _recover(self) -> None:
        if self.status != "ready":
            self.status, self.problem = "ready", ""
            self.tell()

    def _fail(self, error: Exception) -> None:
        is_expected = isinstance(error, SegvoteError)
        self.status, self.problem = "failed", str(error) if is_expected else f"{type(error).__name__}: {error}"
        self._note(step="review failed", problem=self.problem)
        self.tell()

    def _note(self, **message: Any) -> None:
        """A line in the run's log; a disk that cannot take it must not end the review."""
        with contextlib.suppress(SegvoteError, OSError):
            self.log.check_in_place()
            self.run.folder.log(**message)

    def _measure_masks(self) -> None:
        """Draw the masks that changed, one after the other, while there is nothing else to do."""
        with contextlib.suppress(SegvoteError, OSError):
            while not (self._dirty or self._stop):
                left = np.flatnonzero(~self.board.snapshot.is_measured)
                if len(left):
                    self._measure_mask(int(left[0]))
                elif not self._predict_next_left_out():
                    return

    def _measure_mask(self, bag: int) -> None:
        snapshot, strokes = self.board.get_drawn(bag)
        covered, change = self._masks.measure(snapshot, strokes, bag)

        def note(now: Snapshot) -> Snapshot:
            is_same = now.touched_at[bag] == snapshot.touched_at[bag]
            return note_measured(now, bag, covered, change) if is_same else now

        self.board.publish(note)
        self.tell()

    def _predict_next_left_out(self) -> bool:
        """Leave out one finished image; False where all of them are predicted."""
        if not self.voting.is_open or not self.voting.is_final:
            return False
        run_vote = self.voting.get_vote()
        image = next(self._left_out.list_unknown(run_vote), None)
        if image is None:
            return False
        self._left_out.predict(run_vote, image)
        self.tell()
        return True

    # The vote thread.

    def _vote_on(self, state: ReviewState) -> None:
        self._settle(state)
        self._recover()

    def _settle(self, state: ReviewState) -> RunVote:
        started = time.perf_counter()
        run_vote = self.voting.vote(state)
        if self.last_voted < state.last:
            self._note(step="re-vote", action=state.last, seconds=round(time.perf_counter() - started, 4))
        self._move_similar()
        self.last_voted = max(self.last_voted, state.last)
        self._mark_dirty()  # the first thread draws the masks that changed, and asks for a vote on later actions
        self.tell()
        return run_vote

    def settle(self) -> RunVote:
        """Vote on all actions of the log, those of other processes too; the result is that of `annotate`."""
        self.voting.get_vote()
        self.board.catch_up()
        return self._settle(self.board.state)

    # Questions of the page.

    def open(self, number: int) -> int:
        """Show an image by its number among all of the run, also of those that did not vote; its number here."""
        bag = self.board.open(number)
        self._show_action()
        return bag

    def estimate_others(self) -> ExpectedIoU | None:
        """Estimated quality of the images that were not finished; None while none was."""
        if not self.voting.is_open:
            return None
        return self._left_out.estimate(self.voting.get_vote())

    def find_asked(self) -> int:
        """The image that the page asks to finish first; -1 for none."""
        if not self.voting.is_open:
            return -1
        run_vote = self.voting.get_vote()
        if self._asked[0] is not run_vote.taught:
            self._asked = (run_vote.taught, self.voting.find_first())
        return self._asked[1]

    def note_export(self, run_vote: RunVote, run: Run) -> None:
        """Count changes from the files of a run that were just written from a vote."""
        self.board.note_export(run_vote.inputs.corrections, run)
        self._mark_dirty()

    def explain(self, bag: int, segment: int) -> SegmentExplanation:
        """Contributions to the score of a segment."""
        if not 0 <= segment < self.run.bags[self.board.check_bag(bag)].n_segments:
            raise BadInputError(f"image {bag} has {self.run.bags[bag].n_segments} segments; got {segment}")
        return self.voting.explain(bag, segment)
