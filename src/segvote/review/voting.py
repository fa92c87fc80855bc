"""The one door between the review and the voting method: fit or restore, vote with user labels, explain."""

from __future__ import annotations

import threading
from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse

from segvote import method
from segvote.errors import BusyRunError, SegvoteError
from segvote.evaluation.explain import SegmentExplanation, explain_segment
from segvote.method import SegmentAnnotator
from segvote.review.snapshot import UserInput
from segvote.run.corrections import Corrections
from segvote.run.run import Run
from segvote.steps.reopening import Voted, list_segmented_images, reopen, vote
from segvote.steps.vote import decide_votes
from segvote.voters import VOTERS

__all__ = ["Result", "Voting"]

# Whose masks are set beside those of a voter that keeps no votes: quick, and of another kind.
RIVAL = "cam"


@dataclass(frozen=True)
class Result:
    """What a vote gives.

    Attributes
    ----------
    scores, decisions
        (n_segments,) score and bool object.
    thresholds
        (n_bags,) score above which segments are object.
    graph
        (n_segments, n_segments) sparse weights of the neighbours; None for a voter that keeps none.
    uncertainty
        (n_bags,) of the masks, 0 certain to 1.
    """

    scores: np.ndarray
    decisions: np.ndarray
    thresholds: np.ndarray
    graph: sparse.csr_matrix | None
    uncertainty: np.ndarray


class Voting:
    """The method on the segments of one run; safe to use from several threads.

    Attributes
    ----------
    lock
        Held while the voter changes: whoever asks two questions that must agree holds it between them.
    """

    def __init__(self, run: Run) -> None:
        self.run = run
        self.lock = threading.RLock()
        self._voted: Voted | None = None
        self._unlabelled: Result | None = None  # of the bag labels of the last vote

    def open(self) -> None:
        """Fit the method to the run's segments, or restore it, with what the user has said."""
        voted = vote(reopen(self.run), keep=True)
        voted.annotator.prepare_corrections()
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

    def vote(self, user: UserInput, corrections: Corrections) -> Result:
        """The result for the user labels and bag labels of now; those of the last vote are not voted on again."""
        with self.lock:
            if not self._holds(user):
                self._vote_again(user)
            # Actions that change no label, such as an accepted mask, still belong to what is written.
            voted = self.get_voted()
            bags = list_segmented_images(self.run, corrections)
            self._voted = replace(voted, opened=replace(voted.opened, bags=bags, corrections=corrections))
            return self._get_result()

    def _holds(self, user: UserInput) -> bool:
        opened = self.get_voted().opened
        no_labels = np.full(len(user.user_labels), -1, dtype=np.int8)
        user_labels = no_labels if opened.user_labels is None else opened.user_labels
        return np.array_equal(user_labels, user.user_labels) and np.array_equal(opened.table.positive, user.positive)

    def _vote_again(self, user: UserInput) -> None:
        voted = self.get_voted()
        table = replace(voted.opened.table, positive=user.positive)
        user_labels = user.user_labels if (user.user_labels >= 0).any() else None
        annotator = voted.annotator
        if not np.array_equal(table.positive, voted.opened.table.positive):
            annotator = annotator.revote(table.positive)
            self._unlabelled = None
        opened = replace(voted.opened, table=table, user_labels=user_labels)
        self._voted = Voted(opened, annotator, annotator.correct(user_labels))

    def _get_result(self) -> Result:
        voted = self.get_voted()
        return _make_result(voted.annotator, voted.result)

    def get_graph(self) -> sparse.csr_matrix | None:
        """(n_segments, n_segments) weights of the neighbours; None for a voter that keeps none."""
        return self.get_voted().annotator.graph_

    def vote_without_labels(self) -> Result:
        """The result as if the user had labelled no segment; bag labels are those of the last vote."""
        with self.lock:
            if self._unlabelled is None:
                voted = self.get_voted()
                self._unlabelled = _make_result(voted.annotator, voted.annotator.correct(None))
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


def _make_result(annotator: SegmentAnnotator, result: method.Result) -> Result:
    return Result(result.scores, result.selected, result.thresholds, annotator.graph_, result.uncertainty)
