"""The state of a review and the snapshot that shows it, both replaced as a whole; safe to use from several threads."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import replace

from segvote.errors import BadInputError
from segvote.review.shown_run import ShownRun
from segvote.review.snapshot import Snapshot, add_bag, apply_user, note_written
from segvote.review.state import ReviewState, StateReader, find_written, open_snapshot
from segvote.run.correction_log import Action, CorrectionLog
from segvote.run.corrections import Corrections, History
from segvote.run.run import Run


class Board:
    """The last state and the last snapshot of a review.

    Attributes
    ----------
    state : ReviewState
        The log as far as it was read.
    snapshot : Snapshot
        The state, with the last votes.
    """

    def __init__(self, run: ShownRun, log: CorrectionLog) -> None:
        self.run, self.log = run, log
        # Held from reading the log, or a snapshot, to replacing the snapshot.
        self._publishing = threading.RLock()
        self._reader = StateReader(run)
        actions = log.read()
        self.state = self._reader.extend(History(), actions)
        snapshot = apply_user(open_snapshot(run), self.state.user)
        self.snapshot = note_written(snapshot, find_written(run.base, actions, self.state))
        self._open_corrected()

    @property
    def corrections(self) -> Corrections:
        return self.state.corrections

    def catch_up(self) -> None:
        """Read the actions that this or another process appended, and show them before they are voted on."""
        with self._publishing:
            actions = self.log.read(self.state.last)
            if actions:
                self.state = self._reader.extend(self.state.history, actions)
                self._open_corrected()
                self.snapshot = apply_user(self.snapshot, self.state.user)

    def open(self, number: int) -> int:
        """Show the bag with a number among all of the run, also of those that did not vote; its number on the page."""
        with self._publishing:
            bag = self.run.find_shown(number)
            if bag < 0:
                bag, opened = len(self.run), open_snapshot(self.run.base, [number])  # before: a file may be damaged
                self.run.open(number)
                self._reader.add_bag()
                self.state = ReviewState(self.state.history, self._reader.read(self.corrections))
                self.snapshot = apply_user(add_bag(self.snapshot, opened), self.state.user)
            return bag

    def _open_corrected(self) -> None:
        """Show every bag with corrections."""
        for number in self.run.list_corrected(self.corrections):
            self.open(number)

    def publish(self, change: Callable[[Snapshot], Snapshot]) -> None:
        """Replace the snapshot by one that is made from it."""
        with self._publishing:
            self.snapshot = change(self.snapshot)

    def note_export(self, corrections: Corrections, run: Run) -> None:
        """Count changes from the files of a run that were just written with corrections.

        Bags that voted with them are among those that voted first in that run.
        """
        numbers, is_noted = {bag.name: number for number, bag in enumerate(run.all_bags)}, False
        while not is_noted:
            with self._publishing:
                bags, user = self.run.bags, self._reader.read(corrections)
            files = open_snapshot(run, [numbers[bag.name] for bag in bags])
            with self._publishing:
                is_noted = len(bags) == len(self.run)  # else one was opened meanwhile
                if is_noted:
                    written = replace(files, user_labels=user.user_labels, painted=user.painted)
                    self.snapshot = note_written(self.snapshot, written)

    def get_drawn(self, bag: int) -> tuple[Snapshot, Sequence[Action]]:
        """The snapshot, and the strokes on a bag that belong to it."""
        with self._publishing:
            return self.snapshot, self.corrections.strokes.get(self.run.bags[self.check_bag(bag)].digest, ())

    def get_divisions(self, bag: int) -> Sequence[Action]:
        """Cuts and joins of instances of an image."""
        return self.corrections.divisions.get(self.run.bags[bag].digest, ())

    def check_bag(self, bag: int) -> int:
        """Reject the number of a bag that the run does not have; returns it."""
        if not 0 <= bag < len(self.run):
            raise BadInputError(f"expected an image from 0 to {len(self.run) - 1}; got {bag}")
        return bag

    def check_image(self, bag: int) -> int:
        """Reject the number of a video; returns it."""
        if self.run.bags[self.check_bag(bag)].n_frames:
            raise BadInputError(
                "videos are corrected by segments (S); a stroke or cut on one frame does not define others"
            )
        return bag
