"""Adapter for the voting method: fit or restore, vote with user labels, explain."""

from __future__ import annotations

import threading
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from segvote.errors import BusyRunError
from segvote.method.extents import NEVER, Extents, find_extents
from segvote.review.snapshot import UserInput
from segvote.run.corrections import Corrections, drop_empty
from segvote.run.run import Run
from segvote.steps.explain import SegmentExplanation, explain_segment
from segvote.steps.reopening import Opened, Voted, apply_corrections, list_run_bags, reopen, vote

if TYPE_CHECKING:
    from segvote.method.vote import Vote


class Voting:
    """The method on the segments of one run; safe to use from several threads.

    Attributes
    ----------
    lock
        Held while the vote changes, and between two questions whose answers must agree.
    is_final
        Whether the user labels of the last vote took part in it; else they were only propagated to similar segments.
    """

    def __init__(self, run: Run) -> None:
        self.run = run
        self.lock = threading.RLock()
        self.is_final = True
        self._counting = threading.Lock()  # held through a vote, which takes long: one at a time
        self._voted: Voted | None = None
        self._unlabelled: tuple[Vote, Extents] | None = None

    def open(self) -> None:
        """Fit the method to the run's segments, or restore it, with the user labels."""
        voted = vote(reopen(self.run), keep=True)
        _ = voted.held.similarity.width  # measured now, so that the first correction does not wait for it
        with self.lock:
            self._voted = voted

    @property
    def is_open(self) -> bool:
        return self._voted is not None

    def get_voted(self) -> Voted:
        """The last vote."""
        if self._voted is None:
            raise BusyRunError("the votes are still being counted; ask again in a moment")
        return self._voted

    def vote_at_once(self, user: UserInput, corrections: Corrections) -> Voted | None:
        """Propagate user labels to similar segments, which is quick; None where bag labels changed, which takes a vote.

        `is_final` tells whether the result is that of `vote`.
        """
        with self.lock:
            voted, now = self.get_voted(), self._open(user, corrections)
            if not np.array_equal(now.table.bag_labels, voted.opened.table.bag_labels):
                return None
            if _has_same_labels(now, voted.opened):
                # Actions that change no label, such as an accepted mask, still belong to the files.
                self._voted = replace(voted, opened=now)
            else:
                is_labelled = now.user_labels is not None
                # Another voter than the method is never refitted.
                self.is_final = not is_labelled or voted.held.voter is not None
                self._voted = apply_corrections(now, voted.held, voted.refitted if is_labelled else voted.held.vote)
            return self._voted

    def vote(self, user: UserInput, corrections: Corrections) -> Voted:
        """The vote with these user labels and bag labels; `vote_at_once` can be called meanwhile."""
        with self._counting:
            with self.lock:
                voted, now = self.get_voted(), self._open(user, corrections)
                is_moved = not np.array_equal(now.table.bag_labels, voted.opened.table.bag_labels)
                if self.is_final and not is_moved and _has_same_labels(now, voted.opened):
                    self._voted = replace(voted, opened=now)
                    return self._voted
            found = apply_corrections(now, voted.held.relabel(user.positive) if is_moved else voted.held)
            with self.lock:
                self._voted, self.is_final = found, True
            return found

    def _open(self, user: UserInput, corrections: Corrections) -> Opened:
        """The input of a vote with these corrections."""
        opened = self.get_voted().opened
        return replace(
            opened,
            bags=list_run_bags(self.run, corrections),
            table=opened.table.relabel(user.positive),
            corrections=corrections,
            user_labels=drop_empty(user.user_labels, -1),
            painted_shares=None if user.painted_shares is None else drop_empty(user.painted_shares, 0),
        )

    def vote_without_labels(self) -> Vote:
        """The vote without any user label, with the bag labels and extents of the last vote."""
        with self.lock:
            voted = self.get_voted()
            if self._unlabelled is None or self._unlabelled[0] is not voted.held.vote:
                self._unlabelled = voted.held.vote, find_extents(voted.held.vote)
            found, extents = self._unlabelled
            return replace(voted, vote=found, extents=extents).result

    def explain(self, bag: int, segment: int) -> SegmentExplanation:
        """Contributions to the score of a segment."""
        with self.lock:
            return explain_segment(self.get_voted(), bag, segment)


def _has_same_labels(one: Opened, other: Opened) -> bool:
    pairs = ((one.user_labels, other.user_labels), (one.painted_shares, other.painted_shares))
    return all(a is b or (a is not None and b is not None and np.array_equal(a, b)) for a, b in pairs)


def find_wider(levels: np.ndarray, decisions: np.ndarray, level: int, segments: np.ndarray) -> int:
    """The first extent wider than `level` that has most of the pixels that a correction adds to a mask; 0: none.

    `levels` (n_segments,) are the first extents that select each segment of the image, `decisions` (n_segments,) the
    segments of its mask, both before the correction; `segments` (n_pixels,) are those of the corrected pixels.
    """
    added = levels[segments[~decisions[segments]]]
    added = np.sort(added[added > level])
    wider = int(added[len(added) // 2]) if len(added) else NEVER
    return wider if wider < NEVER else 0
