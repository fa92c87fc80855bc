"""Adapter for the voting method: fit or restore, vote with user labels, explain."""

from __future__ import annotations

import threading
from dataclasses import replace

import numpy as np

from segvote.errors import BusyRunError
from segvote.pipeline.corrected_vote import RunVote, apply_corrections, correct_taught, vote
from segvote.pipeline.explain import SegmentExplanation, explain_segment
from segvote.pipeline.opening import RunInputs, list_run_bags, reopen
from segvote.pipeline.user_labels import drop_empty
from segvote.review.snapshot import Snapshot, apply_votes
from segvote.review.state import ReviewState
from segvote.run.run import Run


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
        self._run_vote: RunVote | None = None

    def open(self) -> None:
        """Fit the method to the run's segments, or restore it, with the user labels."""
        run_vote = vote(reopen(self.run), keep=True)
        _ = run_vote.base.similarity.width  # measured now, so that the first correction does not wait for it
        with self.lock:
            self._run_vote = run_vote

    @property
    def is_open(self) -> bool:
        return self._run_vote is not None

    def get_vote(self) -> RunVote:
        """The last vote."""
        if self._run_vote is None:
            raise BusyRunError("expected a finished vote, but the first one still runs; retry in a few seconds")
        return self._run_vote

    def vote_at_once(self, state: ReviewState) -> RunVote | None:
        """Propagate user labels to similar segments, which is quick.

        None where bag labels, finished images or the alternative changed, which takes a vote. `is_final` tells whether
        the result is that of `vote`.
        """
        with self.lock:
            run_vote, now = self.get_vote(), self._open(state)
            if not np.array_equal(now.table.bag_labels, run_vote.inputs.table.bag_labels):
                return None
            if not _has_same_lessons(now, run_vote.inputs):
                self.is_final = False
                return None
            if _has_same_labels(now, run_vote.inputs):
                # Actions that change no label, such as an extent, still belong to the files.
                self._run_vote = replace(run_vote, inputs=now)
            else:
                is_labelled = now.user_labels is not None
                # Another voter than the method is never refitted.
                self.is_final = not is_labelled or not run_vote.base.is_method
                refitted = run_vote.refitted if is_labelled else run_vote.taught
                self._run_vote = correct_taught(now, run_vote.base, run_vote.taught, refitted)
            return self._run_vote

    def vote(self, state: ReviewState) -> RunVote:
        """The vote with the user labels and bag labels of a state; `vote_at_once` can be called meanwhile."""
        with self._counting:
            with self.lock:
                last, now = self.get_vote(), self._open(state)
                is_moved = not np.array_equal(now.table.bag_labels, last.inputs.table.bag_labels)
                if self.is_final and not is_moved and _has_same_labels(now, last.inputs):
                    self._run_vote = replace(last, inputs=now)
                    return self._run_vote
            run_vote = apply_corrections(now, last.base.relabel(state.user.positive) if is_moved else last.base)
            with self.lock:
                self._run_vote, self.is_final = run_vote, True
            return run_vote

    def _open(self, state: ReviewState) -> RunInputs:
        """The input of a vote with the corrections of a state."""
        opened, user = self.get_vote().inputs, state.user
        return replace(
            opened,
            bags=list_run_bags(self.run, state.corrections),
            table=opened.table.relabel(user.positive),
            corrections=state.corrections,
            user_labels=drop_empty(user.user_labels, -1),
            painted_shares=None if user.painted_shares is None else drop_empty(user.painted_shares, 0),
            finished=None if user.finished is None else drop_empty(user.finished, np.nan),
        )

    def list_selections(self) -> np.ndarray:
        """(n_alternatives, n_segments) bool: what each alternative of the last vote selects, before corrections."""
        base = self.get_vote().base
        return np.array([one.selection.selected for one in base.alternatives]).reshape(-1, len(base.table))

    def explain(self, bag: int, segment: int) -> SegmentExplanation:
        """Contributions to the score of a segment."""
        with self.lock:
            return explain_segment(self.get_vote(), bag, segment)


def show_votes(snapshot: Snapshot, run_vote: RunVote) -> Snapshot:
    """A snapshot with the result of a vote."""
    result, graph = run_vote.selection, run_vote.base.graph
    return apply_votes(snapshot, result.scores, result.selected, result.thresholds, graph, result.uncertainty)


def _has_same_labels(one: RunInputs, other: RunInputs) -> bool:
    """Whether two inputs have the same corrections, but for extents and folders."""
    return (
        _has_same_lessons(one, other)
        and _is_same(one.user_labels, other.user_labels)
        and _is_same(one.painted_shares, other.painted_shares)
    )


def _has_same_lessons(one: RunInputs, other: RunInputs) -> bool:
    """Whether two inputs have the same finished images and alternative."""
    is_chosen = one.corrections.alternative == other.corrections.alternative
    return is_chosen and _is_same(one.finished, other.finished)


def _is_same(one: np.ndarray | None, other: np.ndarray | None) -> bool:
    return one is other or (one is not None and other is not None and np.array_equal(one, other, equal_nan=True))


def find_offer(selections: np.ndarray, selected: np.ndarray, chosen: int, segments: np.ndarray) -> int:
    """Number of the alternative that has most of the pixels that a correction adds to a mask; -1: none has half.

    `selections` (n_alternatives, n_segments) are those of the alternatives in the image, of which `chosen` is shown;
    `selected` (n_segments,) are the segments of its mask, before the correction; `segments` (n_pixels,) are those of
    the corrected pixels.
    """
    added = segments[~selected[segments]]
    if not len(added):
        return -1
    shares = selections[:, added].mean(axis=1)
    shares[chosen] = 0.0
    best = int(np.argmax(shares))
    return best if shares[best] > 0.5 else -1
