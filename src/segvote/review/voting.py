"""Adapter for the voting method: fit or restore, vote with user labels, explain."""

from __future__ import annotations

import threading
from dataclasses import replace

import numpy as np

from segvote.errors import BadInputError, BusyRunError
from segvote.pipeline.corrected_vote import RunVote, apply_corrections, correct_taught, vote
from segvote.pipeline.explain import SegmentExplanation, explain_segment
from segvote.pipeline.lessons import find_first
from segvote.pipeline.opening import RunInputs, list_run_bags, reopen
from segvote.pipeline.user_labels import drop_empty
from segvote.review.places import find_places
from segvote.review.shown_run import ShownRun
from segvote.review.snapshot import Snapshot, apply_votes
from segvote.review.state import ReviewState
from segvote.run.corrections import Corrections


class Voting:
    """The method on the segments of one run; safe to use from several threads.

    Numbers of bags and arrays of segments are those of the page. The vote has its own: the bags that voted first, and
    in the order of the run those that are corrected.

    Attributes
    ----------
    lock
        Held while the vote changes, and between two questions whose answers must agree.
    is_final
        Whether the user labels of the last vote took part in it; else they were only propagated to similar segments.
    """

    def __init__(self, run: ShownRun) -> None:
        self.run = run
        self.lock = threading.RLock()
        self.is_final = True
        self._counting = threading.Lock()  # held through a vote, which takes long: one at a time
        self._run_vote: RunVote | None = None
        self._corrected: list[int] = []  # that vote in addition, see `ShownRun.list_corrected`
        self._places = find_places(range(len(run)), run.offsets)

    def open(self, corrections: Corrections) -> None:
        """Fit the method to the run's segments, or restore it, with the corrections of bags that are shown."""
        run_vote = vote(reopen(self.run.base, corrections), keep=True)
        _ = run_vote.base.similarity.width  # measured now, so that the first correction does not wait for it
        self._take(run_vote)

    def _take(self, run_vote: RunVote) -> None:
        """Go on from a vote of other bags."""
        shown = {bag.name: number for number, bag in enumerate(self.run.bags)}
        with self.lock:
            self._run_vote, self.is_final = run_vote, True
            self._corrected = self.run.list_corrected(run_vote.inputs.corrections)
            self._places = find_places((shown[bag.name] for bag in run_vote.inputs.bags), self.run.offsets)

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

        None where bag labels, finished images or the alternative changed, or other bags vote, which takes a vote.
        `is_final` tells whether the result is that of `vote`.
        """
        with self.lock:
            if not self._has_same_voters(state):
                self.is_final = False
                return None
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
            if not self._has_same_voters(state):
                self._take(vote(reopen(self.run.base, state.corrections), keep=True))
                return self.get_vote()
            with self.lock:
                run_vote, now = self.get_vote(), self._open(state)
                is_moved = not np.array_equal(now.table.bag_labels, run_vote.inputs.table.bag_labels)
                if self.is_final and not is_moved and _has_same_labels(now, run_vote.inputs):
                    self._run_vote = replace(run_vote, inputs=now)
                    return self._run_vote
                positive = state.user.positive[self._places.bags]
            run_vote = apply_corrections(now, run_vote.base.relabel(positive) if is_moved else run_vote.base)
            with self.lock:
                self._run_vote, self.is_final = run_vote, True
            return run_vote

    def _has_same_voters(self, state: ReviewState) -> bool:
        return self.run.list_corrected(state.corrections) == self._corrected

    def _open(self, state: ReviewState) -> RunInputs:
        """The input of a vote of the same bags with the corrections of a state."""
        opened, user, places = self.get_vote().inputs, state.user, self._places
        return replace(
            opened,
            bags=list_run_bags(self.run, state.corrections, places.order),
            table=opened.table.relabel(user.positive[places.bags]),
            corrections=state.corrections,
            user_labels=drop_empty(places.take(user.user_labels), -1),
            painted_shares=None if user.painted_shares is None else drop_empty(places.take(user.painted_shares), 0),
            finished=None if user.finished is None else drop_empty(places.take(user.finished), np.nan),
        )

    def show(self, snapshot: Snapshot, run_vote: RunVote) -> Snapshot:
        """A snapshot with the result of the last vote; bags that did not vote have that of the model as it was."""
        result, graph, places = run_vote.selection, run_vote.base.graph, self._places
        before = self._restore(snapshot)
        return apply_votes(
            snapshot,
            places.put(result.scores, before.scores),
            places.put(result.selected, before.selected),
            places.put_bags(result.thresholds, before.thresholds),
            graph,
            places.put_bags(result.uncertainty, before.uncertainty),
            places,
        )

    def _restore(self, snapshot: Snapshot) -> Snapshot:
        """The snapshot in which bags that do not vote any more are predicted as they were."""
        gone = np.flatnonzero(snapshot.is_voter & ~self._places.mark(len(snapshot.is_voter)))
        if not len(gone):
            return snapshot
        scores, selected = snapshot.scores.copy(), snapshot.selected.copy()
        thresholds, uncertainty = snapshot.thresholds.copy(), snapshot.uncertainty.copy()
        for bag in gone.tolist():
            part, result = snapshot.get_slice(bag), self.run.read_bag_votes(bag)
            scores[part], selected[part] = result["scores"], result["selected"]
            thresholds[bag], uncertainty[bag] = result["thresholds"][0], self.run.bags[bag].uncertainty
        return replace(snapshot, scores=scores, selected=selected, thresholds=thresholds, uncertainty=uncertainty)

    def list_selections(self) -> np.ndarray:
        """(n_alternatives, n_segments) bool: what each alternative of the last vote selects, before corrections."""
        with self.lock:
            base, places = self.get_vote().base, self._places
        nothing = np.zeros(int(self.run.offsets[-1]), dtype=bool)
        selections = [places.put(one.selection.selected, nothing) for one in base.alternatives]
        return np.array(selections).reshape(-1, len(nothing))

    def find_first(self) -> int:
        """Number of the bag that is best finished first, see `segvote.pipeline.lessons.find_first`; -1 for none."""
        with self.lock:
            found = find_first(self.get_vote())
            return self._places.order[found] if found >= 0 else -1

    def explain(self, bag: int, segment: int) -> SegmentExplanation:
        """Contributions to the score of a segment."""
        with self.lock:
            order = self._places.order
            if bag not in order:
                raise BadInputError(
                    "this image did not vote: the model scores it. Correct or accept it, and it votes with the others"
                )
            found = explain_segment(self.get_vote(), order.index(bag), segment)
        return replace(found, bag=bag, lines=tuple(replace(line, bag=order[line.bag]) for line in found.lines))


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
