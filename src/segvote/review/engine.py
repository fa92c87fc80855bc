"""The threads of a review: one loads the run and shows actions, the other votes; both publish snapshots.

An action is written to the log first, and shown. Then the first thread reads the log, which other pages and processes
write to as well, and propagates new labels to similar segments. The second thread holds the vote in which the labels
take part, which takes longer, and replaces the propagated scores; actions meanwhile are propagated at once and voted on
next. The last state of the page is the one that `annotate` would write.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from segvote.errors import BadInputError, SegvoteError
from segvote.review.actions import Actions
from segvote.review.finishing import Overlaps
from segvote.review.masks import measure_redrawn
from segvote.review.snapshot import apply_votes, drop_labels, note_measured, note_redrawn, note_written
from segvote.review.user_input import open_snapshot
from segvote.run.run import Run
from segvote.steps.explain import SegmentExplanation
from segvote.steps.reopening import Voted

# How often the log is checked for actions of other processes (a second server, `segvote import`).
POLL_SECONDS = 1.0


class Engine(Actions):
    """A review of a finished run with its votes; `tell` is called, from any thread, after every change."""

    def __init__(self, run: Run, tell: Callable[[], None] = lambda: None) -> None:
        super().__init__(run)
        self.tell = tell
        self.status, self.problem = "loading", ""
        self.last_voted = -1  # number of the last action that was voted on
        self._wake = threading.Condition()
        self._dirty, self._waiting, self._stop = True, False, False  # new actions; a vote is due; the review ends
        self._overlaps = Overlaps(run)
        self._threads = [
            threading.Thread(target=self._work, name="segvote-review", daemon=True),
            threading.Thread(target=self._vote_on, name="segvote-vote", daemon=True),
        ]

    def start(self) -> None:
        """Start both threads, if they were not yet."""
        with self._wake:
            for thread in self._threads:
                if thread.ident is None:
                    thread.start()

    def stop(self) -> None:
        with self._wake:
            self._stop = True
            self._wake.notify_all()
        for thread in self._threads:
            if thread.ident is not None:
                thread.join(timeout=5)
        self.log.close()

    def _show_actions(self) -> None:
        super()._show_actions()
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
        """Until there is something to vote on (True) or the review ends (False)."""
        while True:
            with self._wake:
                self._wake.wait_for(lambda: self._dirty or self._stop, POLL_SECONDS)
                if self._dirty or self._stop:
                    self._dirty = False
                    return not self._stop
            with contextlib.suppress(SegvoteError):
                if self.log.read_last() != self.corrections.last:
                    return True

    def _take_step(self) -> None:
        if not self.voting.is_open:
            self.voting.open()
            redrawn = measure_redrawn(self.run, self.snapshot)
            with self._publishing:
                self.snapshot = note_redrawn(self.snapshot, redrawn)
        self._move_similar()
        if self.voting.is_final and self.last_voted >= self.corrections.last:
            self._recover()
        with self._wake:
            self._waiting = self.last_voted < self.corrections.last
            self._wake.notify_all()

    def _move_similar(self) -> None:
        """Propagate the labels of the log to similar segments."""
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
                left = np.flatnonzero(~self.snapshot.is_measured)
                if len(left):
                    self._measure_mask(int(left[0]))
                elif not self._measure_next_overlap():
                    return

    def _measure_mask(self, bag: int) -> None:
        snapshot, strokes = self._get_drawn(bag)
        covered, change = self.masks.measure(snapshot, strokes, bag)
        with self._publishing:
            if self.snapshot.touched_at[bag] == snapshot.touched_at[bag]:
                self.snapshot = note_measured(self.snapshot, bag, covered, change)
        self.tell()

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

    # The second thread.

    def _vote_on(self) -> None:
        while True:
            with self._wake:
                self._wake.wait_for(lambda: self._waiting or self._stop)
                self._waiting = False
            if self._stop:
                return
            try:
                self.settle()
                self._recover()
            except Exception as error:  # as in the first thread
                self._fail(error)

    def settle(self) -> Voted:
        """Vote on all actions of the log; the result is that of `annotate`."""
        self.voting.get_voted()
        user, corrections = self._read_log()
        started = time.perf_counter()
        voted = self.voting.vote(user, corrections)
        if self.last_voted < user.action:
            self._note(step="re-vote", action=user.action, seconds=round(time.perf_counter() - started, 4))
        self._move_similar()
        self.last_voted = max(self.last_voted, user.action)
        self._mark_dirty()  # the first thread draws the masks that changed, and asks for a vote on later actions
        self.tell()
        return voted

    # Questions of the page.

    def estimate_rest(self) -> dict[str, float] | None:
        """Estimated quality of the automatic masks; None while too few were accepted."""
        return self._overlaps.estimate(self.snapshot)

    def note_export(self, voted: Voted, run: Run) -> None:
        """Count changes from the files of a run that were just written from a vote."""
        with self._publishing:
            user = self._reader.read(voted.opened.corrections)
            written = replace(open_snapshot(run), user_labels=user.user_labels, painted=user.painted)
            self.snapshot = note_written(self.snapshot, written)
        self._mark_dirty()

    def explain(self, bag: int, segment: int) -> SegmentExplanation:
        """Contributions to the score of a segment."""
        if not 0 <= segment < self.run.bags[self.check_bag(bag)].n_segments:
            raise BadInputError(f"image {bag} has {self.run.bags[bag].n_segments} segments; got {segment}")
        return self.voting.explain(bag, segment)
