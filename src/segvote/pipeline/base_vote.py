"""`BaseVote`: the outcome of a vote before corrections, by the method or by another voter."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from scipy import sparse
from scipy.special import expit

from segvote.method.confidence import Confidence
from segvote.method.correct import Correction, Estimate, Similarity, correct, make_estimate, refit_with_labels
from segvote.method.extents import Extents, find_extents
from segvote.method.hypotheses import VoteParams
from segvote.method.mislabelled import classify_held_out, measure_suspicion
from segvote.method.prior import measure_border_prior
from segvote.method.table import SegmentTable
from segvote.method.teach import score_taught_held_out, teach
from segvote.method.vote import Explanation, Vote, decide_scores, explain_vote, weigh_segments
from segvote.method.whole_vote import vote_and_judge
from segvote.numerics import Neighbours
from segvote.selection import Selection

if TYPE_CHECKING:
    from segvote.voters.base import BaseVoter


@dataclass(frozen=True)
class Lesson:
    """Finished images, and the vote before they took part."""

    before: Vote
    finished: np.ndarray  # (n_segments,) share of each segment that is object; NaN in other images


@dataclass(frozen=True, kw_only=True)
class BaseVote(ABC):
    """The outcome of a vote before corrections, and how far to trust it."""

    estimate: Estimate  # table and selection
    params: VoteParams
    suspicion: np.ndarray  # (n_images,) similarity to the other folder, in [0, 1]
    confidence: Confidence
    recall: float | None = None  # share of the true neighbours that the search found; None: no search
    near_duplicates: Sequence[tuple[int, int]] = ()  # numbers of bags, one of each folder
    alternatives: tuple[Vote, ...] = ()  # the vote and others that select something else; of the method only
    lesson: Lesson | None = None  # finished images that took part; of the method only

    is_method: ClassVar[bool]  # whether the method voted, not another voter

    @property
    def table(self) -> SegmentTable:
        """The segments that were voted on."""
        return self.estimate.table

    @property
    def selection(self) -> Selection:
        """The selection at the default extent."""
        return self.estimate.selection

    @cached_property
    def similarity(self) -> Similarity:
        """Similarity of the segments, by which corrections are propagated."""
        return Similarity(self.table.X, self.table.images)

    @property
    @abstractmethod
    def excluded(self) -> np.ndarray:
        """(n_images,) bool: images that do not vote; the method only excludes any."""

    @property
    @abstractmethod
    def graph(self) -> sparse.csr_matrix | None:
        """(n_segments, n_segments) votes of the neighbours; None for another voter than the method, which has none."""

    @abstractmethod
    def refit(self, user_labels: np.ndarray | None) -> BaseVote:
        """The vote in which user labels (n_segments,) take part; another voter than the method is not refitted."""

    @abstractmethod
    def choose(self, number: int) -> BaseVote:
        """The alternative with this number, 0 the vote itself."""

    @abstractmethod
    def teach(self, finished: np.ndarray | None) -> BaseVote:
        """The vote after images were finished, see `segvote.method.teach.teach`; of the method only."""

    @abstractmethod
    def relabel(self, positive: np.ndarray) -> BaseVote:
        """The vote on the same segments with other bag labels (n_bags,) bool; neighbours are not searched again."""

    @abstractmethod
    def find_extents(self, selection: Selection) -> Extents:
        """The nested selections of this one, which may have corrections; without votes of neighbours none grows."""

    @abstractmethod
    def weigh_segments(self, selection: Selection) -> np.ndarray:
        """(n_segments,) soft labels in [0, 1] of the selection, which may have corrections."""

    @abstractmethod
    def explain(self, segment: int) -> Explanation:
        """Contributions to the score of a segment before smoothing."""

    def correct(
        self, user_labels: np.ndarray | None, painted: np.ndarray | None = None, refitted: BaseVote | None = None
    ) -> Correction:
        """The selection with corrections, see `segvote.method.correct.correct`."""
        refitted = self.refit(user_labels) if refitted is None else refitted
        return correct(self.estimate, refitted.estimate, self.similarity, user_labels, painted)


# Of the method --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class MethodVote(BaseVote):
    """A vote of the method: it is held again with labels, other bag labels and finished images."""

    vote: Vote

    is_method: ClassVar[bool] = True

    @property
    def excluded(self) -> np.ndarray:
        return self.vote.diagnostics.excluded

    @property
    def graph(self) -> sparse.csr_matrix:
        return self.vote.inputs.graph

    def refit(self, user_labels: np.ndarray | None) -> BaseVote:
        if user_labels is None:
            return self
        if self.lesson is not None:
            return self._replace_vote(teach(self.lesson.before, self.lesson.finished, user_labels))
        return self._replace_vote(refit_with_labels(self.vote, user_labels))

    def choose(self, number: int) -> BaseVote:
        return self._replace_vote(self.alternatives[number]) if 0 < number < len(self.alternatives) else self

    def teach(self, finished: np.ndarray | None) -> BaseVote:
        if finished is None:
            return self
        return replace(self._replace_vote(teach(self.vote, finished)), lesson=Lesson(self.vote, finished))

    def _replace_vote(self, vote: Vote) -> MethodVote:
        return self if vote is self.vote else replace(self, vote=vote, estimate=make_estimate(vote))

    def relabel(self, positive: np.ndarray) -> BaseVote:
        judged = vote_and_judge(self.table.relabel(positive), self.graph, self.params)
        return make_method_vote(*judged, self.recall)

    def score_held_out(self, folds: np.ndarray) -> np.ndarray:
        """(n_segments,) scores before smoothing, each from a vote without its fold (n_images,)."""
        if self.lesson is None:
            return self.vote.score_held_out(folds)
        return score_taught_held_out(self.lesson.before, self.vote, self.lesson.finished, folds)

    def find_extents(self, selection: Selection) -> Extents:
        graph = replace(self.vote.electorate, user_labels=selection.user_labels).graph
        return find_extents(self.table, selection, graph)

    def weigh_segments(self, selection: Selection) -> np.ndarray:
        return weigh_segments(self.table, selection, self.vote.scorer.compute_soft_labels(selection.scores))

    def explain(self, segment: int) -> Explanation:
        return explain_vote(self.vote, segment)


def make_method_vote(
    alternatives: Sequence[Vote],
    confidence: Confidence,
    recall: float | None,
    near_duplicates: Sequence[tuple[int, int]] = (),
) -> MethodVote:
    """The outcome of `vote_and_judge` on neighbours that were found with this recall."""
    vote = alternatives[0]
    return MethodVote(
        vote=vote,
        estimate=make_estimate(vote),
        params=vote.inputs.params,
        suspicion=vote.diagnostics.suspicion,
        confidence=confidence,
        alternatives=tuple(alternatives),
        recall=recall,
        near_duplicates=near_duplicates,
    )


# Of another voter -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class VoterVote(BaseVote):
    """The decision on the scores of another voter: it has no graph and no alternatives, and is not refitted."""

    voter: BaseVoter  # fitted

    is_method: ClassVar[bool] = False

    @property
    def excluded(self) -> np.ndarray:
        return np.zeros(self.table.n_images, dtype=bool)

    @property
    def graph(self) -> None:
        return None

    def refit(self, user_labels: np.ndarray | None) -> BaseVote:
        return self

    def choose(self, number: int) -> BaseVote:
        return self

    def teach(self, finished: np.ndarray | None) -> BaseVote:
        return self

    def relabel(self, positive: np.ndarray) -> BaseVote:
        return ask_voter(self.table.relabel(positive), self.voter, self.params)

    def find_extents(self, selection: Selection) -> Extents:
        return find_extents(self.table, selection, None)

    def weigh_segments(self, selection: Selection) -> np.ndarray:
        # The scores of another voter have no scale: a logistic curve of their standard deviation stands for it.
        return weigh_segments(self.table, selection, expit(selection.scores / (float(selection.scores.std()) or 1.0)))

    def explain(self, segment: int) -> Explanation:
        return self.voter.explain(segment)


def ask_voter(
    table: SegmentTable, voter: BaseVoter, params: VoteParams, neighbours: Neighbours | None = None
) -> VoterVote:
    """Fit another voter to a table, and decide by its scores."""
    prior = table.prior * measure_border_prior(table.border, params.border_prior)
    voter.fit(table.X, table.is_candidate, bags=table.bags, prior=prior, neighbours=neighbours)
    selection = decide_scores(table, voter.scores_, params)
    return VoterVote(
        voter=voter,
        estimate=Estimate(table, selection, np.empty((0, len(table)), dtype=bool)),
        params=params,
        suspicion=measure_suspicion(table, selection.scores, classify_held_out(table)),
        confidence=Confidence(np.nan),
        recall=getattr(voter, "recall_", None),
    )
