"""The one door between the review and the voting method: fit or restore, vote with user labels, explain."""

from __future__ import annotations

import threading
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from segvote.errors import BusyRunError, SegvoteError
from segvote.evaluation.explain import SegmentExplanation, explain_segment
from segvote.review.snapshot import UserInput
from segvote.run.corrections import Corrections
from segvote.run.run import Run
from segvote.steps.reopening import Reopened, Voted, list_segmented_images, reopen, teach, vote
from segvote.steps.vote import decide_votes, join_frames
from segvote.steps.voting.corrected import apply_corrections
from segvote.voters import VOTERS

if TYPE_CHECKING:
    from segvote.method import Result

# Whose masks are set beside those of a voter that keeps no votes: quick, and of another kind.
RIVAL = "cam"


class Voting:
    """The method on the segments of one run; safe to use from several threads.

    Attributes
    ----------
    lock
        Held while the voter changes: whoever asks two questions that must agree holds it between them.
    is_final
        Whether the user labels of the last vote took part in it; else they were only passed on to what is like them.
    """

    def __init__(self, run: Run) -> None:
        self.run = run
        self.lock = threading.RLock()
        self.is_final = True
        self._counting = threading.Lock()  # held through a vote, which takes long: one at a time
        self._voted: Voted | None = None
        self._unlabelled: Result | None = None  # of the bag labels of the last vote

    def open(self) -> None:
        """Fit the method to the run's segments, or restore it, with the user labels."""
        voted = vote(reopen(self.run), keep=True)
        voted.untaught.prepare_corrections()
        with self.lock:
            self._voted = voted

    @property
    def is_open(self) -> bool:
        return self._voted is not None

    def get_voted(self) -> Voted:
        """The last vote, for whoever writes files or looks for misplaced images."""
        if self._voted is None:
            raise BusyRunError("the votes are still being counted; ask again in a moment")
        return self._voted

    def vote_at_once(self, user: UserInput, corrections: Corrections) -> Voted | None:
        """Pass the user labels of now on to what is like them, which is quick; `is_final` says whether that is all.

        None where bag labels changed, too: only `vote` can tell what becomes of that.
        """
        with self.lock:
            if not np.array_equal(self.get_voted().opened.table.positive, user.positive):
                return None
            if not self._holds(user):
                self._pass_on(user)
            # Actions that change no label, such as an accepted mask, still belong to what is written.
            self._voted = replace(self.get_voted(), opened=self._open(user, corrections))
            return self._voted

    def vote(self, user: UserInput, corrections: Corrections) -> Voted:
        """The vote in which the user labels and bag labels of now take part; meanwhile `vote_at_once` can be asked."""
        with self._counting:
            with self.lock:
                if self.is_final and self._holds(user):
                    self.vote_at_once(user, corrections)
                    return self.get_voted()
                voted, opened = self.get_voted(), self._open(user, corrections)
            untaught, moved = voted.untaught, not np.array_equal(opened.table.positive, voted.opened.table.positive)
            if moved:
                untaught = untaught.revote(user.positive[opened.table.groups])
            found = teach(opened, untaught)
            with self.lock:
                self._voted, self.is_final = found, True
                self._unlabelled = None if moved else self._unlabelled
            return found

    def _holds(self, user: UserInput) -> bool:
        opened = self.get_voted().opened
        pairs = (
            (_drop_nothing(user.user_labels), opened.user_labels),
            (_drop_not_painted(user.painted_shares), opened.painted_shares),
            (user.positive, opened.table.positive),
        )
        return all(_is_equal(one, other) for one, other in pairs)

    def _open(self, user: UserInput, corrections: Corrections) -> Reopened:
        """The run as a vote on this input of the user finds it."""
        opened = self.get_voted().opened
        return replace(
            opened,
            bags=list_segmented_images(self.run, corrections),
            table=replace(opened.table, positive=user.positive),
            corrections=corrections,
            user_labels=_drop_nothing(user.user_labels),
            painted_shares=_drop_not_painted(user.painted_shares),
        )

    def _pass_on(self, user: UserInput) -> None:
        voted, user_labels = self.get_voted(), _drop_nothing(user.user_labels)
        shares = _drop_not_painted(user.painted_shares)
        annotator = voted.untaught if user_labels is None else voted.annotator
        # Another voter than the method is never taught.
        self.is_final = user_labels is None or annotator.voter is not None
        opened = replace(voted.opened, user_labels=user_labels, painted_shares=shares)
        result = apply_corrections(voted.untaught, annotator, opened.table.images, user_labels, shares)
        self._voted = Voted(opened, voted.untaught, annotator, join_frames(opened.table, result))

    def vote_without_labels(self) -> Result:
        """The result as if the user had labelled no segment; bag labels are those of the last vote."""
        with self.lock:
            if self._unlabelled is None:
                voted = self.get_voted()
                self._unlabelled = join_frames(voted.opened.table, voted.untaught.correct(None))
            return self._unlabelled

    def explain(self, bag: int, segment: int) -> SegmentExplanation:
        """Which segments voted for a segment, and how much."""
        with self.lock:
            return explain_segment(self.get_voted(), bag, segment)

    def ask_rival(self) -> np.ndarray | None:
        """(n_segments,) bool decisions of another voter; None where it cannot vote."""
        table = self.get_voted().opened.table
        try:
            rival = VOTERS[RIVAL]().fit(table.X, table.positive[table.bags], bags=table.bags)
            return decide_votes(table, rival.scores_, self.run.settings)[2]
        except (SegvoteError, ImportError):
            return None


def _drop_nothing(user_labels: np.ndarray) -> np.ndarray | None:
    """The labels (n_segments,), or None where there are none, as a run that is opened has them."""
    return user_labels if (user_labels >= 0).any() else None


def _drop_not_painted(shares: np.ndarray | None) -> np.ndarray | None:
    return shares if shares is not None and shares.any() else None


def _is_equal(one: np.ndarray | None, other: np.ndarray | None) -> bool:
    return one is other or (one is not None and other is not None and np.array_equal(one, other))
