"""Adapter for the voting method: fit or restore, vote with user labels, explain, find the extent that fits."""

from __future__ import annotations

import threading
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from segvote.errors import BusyRunError, SegvoteError
from segvote.method.extents import N_LEVELS, Extents, find_extents
from segvote.method.vote import vote_by_scores
from segvote.review.snapshot import UserInput
from segvote.run.corrections import Corrections
from segvote.run.run import Run
from segvote.steps.explain import SegmentExplanation, explain_segment
from segvote.steps.reopening import (
    Opened,
    Voted,
    apply_corrections,
    list_segmented_images,
    reopen,
    vote,
)
from segvote.voters import VOTERS

if TYPE_CHECKING:
    from segvote.method import Vote


# The voter whose masks are compared with those of a voter without a graph: quick, and of another kind.
RIVAL = "cam"


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
        _ = voted.held.similarity.width  # measured now, so that the first correction need not wait for it
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
        """Propagate the user labels of now to similar segments, which is quick; `is_final` tells whether that is all.

        None where bag labels changed, too, which takes a vote.
        """
        with self.lock:
            if not np.array_equal(self.get_voted().opened.table.bag_labels, user.positive):
                return None
            if not self._holds(user):
                self._propagate(user)
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
            held = voted.held
            if not np.array_equal(opened.table.bag_labels, voted.opened.table.bag_labels):
                held = held.relabel(user.positive)
            found = apply_corrections(opened, held)
            with self.lock:
                self._voted, self.is_final = found, True
            return found

    def _holds(self, user: UserInput) -> bool:
        opened = self.get_voted().opened
        pairs = (
            (_drop_nothing(user.user_labels), opened.user_labels),
            (_drop_not_painted(user.painted_shares), opened.painted_shares),
            (user.positive, opened.table.bag_labels),
        )
        return all(_is_equal(one, other) for one, other in pairs)

    def _open(self, user: UserInput, corrections: Corrections) -> Opened:
        """The run as a vote on this input of the user finds it."""
        opened = self.get_voted().opened
        return replace(
            opened,
            bags=list_segmented_images(self.run, corrections),
            table=opened.table.relabel(user.positive),
            corrections=corrections,
            user_labels=_drop_nothing(user.user_labels),
            painted_shares=_drop_not_painted(user.painted_shares),
        )

    def _propagate(self, user: UserInput) -> None:
        voted, user_labels = self.get_voted(), _drop_nothing(user.user_labels)
        refitted = voted.held.vote if user_labels is None else voted.refitted
        # Another voter than the method is never refitted.
        self.is_final = user_labels is None or voted.held.voter is not None
        shares = _drop_not_painted(user.painted_shares)
        opened = replace(voted.opened, user_labels=user_labels, painted_shares=shares)
        self._voted = apply_corrections(opened, voted.held, refitted)

    def vote_without_labels(self) -> Vote:
        """The vote as if the user had labelled no segment; bag labels and extents are those of the last vote."""
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

    def ask_rival(self) -> np.ndarray | None:
        """(n_segments,) bool decisions of another voter; None where it cannot vote."""
        found = self.get_voted().held.vote
        table = found.table
        try:
            rival = VOTERS[RIVAL]().fit(table.X, table.is_candidate, bags=table.bags)
            return vote_by_scores(table, rival.scores_, found.params).selected
        except (SegvoteError, ImportError):
            return None


def _drop_nothing(user_labels: np.ndarray) -> np.ndarray | None:
    """The labels (n_segments,), or None where there are none, as a run that is opened has them."""
    return user_labels if (user_labels >= 0).any() else None


def _drop_not_painted(shares: np.ndarray | None) -> np.ndarray | None:
    return shares if shares is not None and shares.any() else None


def _is_equal(one: np.ndarray | None, other: np.ndarray | None) -> bool:
    return one is other or (one is not None and other is not None and np.array_equal(one, other))


def find_wider(levels: np.ndarray, decisions: np.ndarray, level: int, added: np.ndarray) -> int:
    """The tightest of the wider extents that has most of the pixels that a correction adds to a mask.

    Parameters
    ----------
    levels : (n_segments,) uint8
        The first extent that selects each segment of the image, before the correction.
    decisions : (n_segments,) bool
        Segments of the mask, before the correction.
    level : int
        The extent of the image.
    added : (n_segments,)
        Pixels of each segment that the correction calls object.

    Returns
    -------
    int
        0 where there is none, or nothing is added.
    """
    new = np.where(decisions | (levels <= level), 0, added)
    for wider in range(level + 1, N_LEVELS + 1):
        if 2 * new[levels <= wider].sum() > new.sum():
            return wider
    return 0
