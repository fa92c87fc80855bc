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
from collections.abc import Callable
from typing import Any

import numpy as np

from segvote.errors import BadInputError, SegvoteError
from segvote.evaluation.explain import SegmentExplanation
from segvote.review.actions import Actions
from segvote.review.finishing import Estimate, Overlaps
from segvote.review.masks import measure_redrawn
from segvote.review.snapshot import (
    apply_votes,
    drop_labels,
    measure_disagreement,
    note_measured,
    note_signs,
    note_written,
)
from segvote.review.user_input import read_written
from segvote.run.correction_log import rescue_log
from segvote.run.run import Run
from segvote.steps.reopening import Voted

# How often the log is asked whether another process (a second server, `segvote import`) wrote to it.
POLL_SECONDS = 1.0


class Engine(Actions):
    """A review with its votes.

    Parameters
    ----------
    run
        A finished run.
    tell
        Called, from any thread, whenever there is something new.
    """

    def __init__(self, run: Run, tell: Callable[[], None] = lambda: None) -> None:
        super().__init__(run)
        self.tell = tell
        self.status, self.problem = "loading", ""
        self.last_voted = -1  # number of the last action that was voted on
        self._wake = threading.Condition()
        self._dirty, self._stop = True, False
        self._was_in_place = True  # the log, when the pages were told last
        self._overlaps = Overlaps(run)
        self._waiting = False  # for a vote
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

    def rescue(self) -> None:
        """Go on with the run that lies in the folder now, after it was deleted or replaced; see `rescue_log`."""
        rescue_log(self.log)
        self.last_voted = -1  # the numbers may be others
        self._show_actions()

    def _show_actions(self) -> None:
        """Show what is in the log at once, and let the thread vote on it."""
        super()._show_actions()
        self._mark_dirty()
        self.tell()

    def _mark_dirty(self) -> None:
        with self._wake:
            self._dirty = True
            self._wake.notify_all()

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

    def explain(self, bag: int, segment: int) -> SegmentExplanation:
        """Which segments voted for a segment."""
        if not 0 <= segment < self.run.bags[self.check_bag(bag)].n_segments:
            raise BadInputError(f"image {bag} has {self.run.bags[bag].n_segments} segments; got {segment}")
        return self.voting.explain(bag, segment)
