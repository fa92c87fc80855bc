"""The vote on a table of segments: by the method, or by another voter of the settings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from importlib import import_module
from threading import Thread
from typing import TYPE_CHECKING

import numpy as np

from segvote.kernels import Neighbours
from segvote.method.confidence import Confidence, vote_and_judge
from segvote.method.corrections import Similarity, correct, refit_with_labels
from segvote.method.decide import select
from segvote.method.graph import N_NEIGHBORS
from segvote.method.held_out import find_near_duplicates
from segvote.method.hypotheses import VoteParams
from segvote.method.table import SegmentTable
from segvote.method.vote import Vote, vote_by_scores
from segvote.method.walk import measure_border_prior
from segvote.run.settings import Settings
from segvote.voters import METHOD, make_voter
from segvote.voters.options import check_options

if TYPE_CHECKING:
    from segvote.voters.base import BaseVoter


@dataclass(frozen=True)
class Held:
    """A vote without corrections, and how far to trust it."""

    vote: Vote
    confidence: Confidence
    voter: BaseVoter | None = None  # whose scores were decided on; None: the method
    recall: float | None = None  # share of the true neighbours that the search found; None: no search
    near_duplicates: Sequence[tuple[int, int]] = ()  # numbers of bags of the two folders that look alike all over

    @cached_property
    def similarity(self) -> Similarity:
        """Of the segments, by which corrections are propagated."""
        return Similarity(self.vote.table.X, self.vote.table.images)

    def refit(self, user_labels: np.ndarray | None) -> Vote:
        """The vote in which user labels (n_segments,) take part; the method only."""
        return refit_with_labels(self.vote, user_labels, self.confidence.is_low)

    def correct(
        self, user_labels: np.ndarray | None, painted: np.ndarray | None = None, refitted: Vote | None = None
    ) -> Vote:
        """The vote with corrections, see `segvote.method.corrections.correct`."""
        given = {"refitted": refitted, "similarity": self.similarity, "low": self.confidence.is_low}
        return correct(self.vote, user_labels, painted, **given)  # type: ignore[arg-type]

    def relabel(self, positive: np.ndarray) -> Held:
        """The vote on the same segments with other bag labels (n_bags,) bool; neighbours are not searched again."""
        table = self.vote.table.relabel(positive)
        if self.voter is not None:
            return _ask_voter(table, self.voter, self.vote.params)
        return Held(*vote_and_judge(table, self.vote.graph, self.vote.params), recall=self.recall)


def load_method() -> None:
    """Import scikit-learn in the background, while other processes extract features."""
    # Not as a daemon: a program that ends early waits for the import rather than be torn down in the middle of it.
    Thread(target=import_module, args=("sklearn.linear_model",)).start()


def make_params(settings: Settings) -> VoteParams:
    """The parameters of a run's vote."""
    check_options(settings.voter, settings.voter_options)
    options = settings.voter_options if settings.voter == METHOD else {}
    # As large a part of an image's segments as the default is: three times as many are three times as alike.
    n_neighbors = max(N_NEIGHBORS, round(N_NEIGHBORS * settings.n_segments / Settings.n_segments))
    params = VoteParams(
        n_neighbors=n_neighbors,
        border_prior=settings.border_prior,
        smoothing=settings.smoothing,
        decision=settings.decision,
        exclude_mislabelled=settings.exclude_mislabelled,
        allow_empty=settings.unsure,
    )
    return replace(params, **options)


def count_neighbours(settings: Settings) -> int:
    """How many neighbours of each segment the vote asks for; 0: none."""
    if settings.voter == METHOD:
        return make_params(settings).n_neighbors
    return make_voter(settings.voter, settings.voter_options, settings.finish).n_searched


def hold_vote(table: SegmentTable, settings: Settings, neighbours: Neighbours | None = None) -> Held:
    """Vote on a table; the neighbours that `count_neighbours` asks for are searched where they are not given."""
    params, n_neighbors = make_params(settings), count_neighbours(settings)
    if neighbours is None and n_neighbors:
        neighbours = Neighbours.search(table.X, n_neighbors, table.bags)
    if settings.voter == METHOD:
        assert neighbours is not None
        found, confidence = vote_and_judge(table, neighbours.build_graph(), params)
        near_duplicates = find_near_duplicates(table, neighbours.indices[:, 0])
        return Held(found, confidence, None, neighbours.recall, near_duplicates)
    voter = make_voter(settings.voter, settings.voter_options, settings.finish)
    return _ask_voter(table, voter, params, neighbours)


def _ask_voter(table: SegmentTable, voter: BaseVoter, params: VoteParams, neighbours: Neighbours | None = None) -> Held:
    """The decision on another voter's scores."""
    prior = table.prior * measure_border_prior(table.border, params.border_prior)
    voter.fit(table.X, table.is_candidate, bags=table.bags, prior=prior, neighbours=neighbours)
    found = vote_by_scores(table, voter.scores_, params)
    return Held(found, Confidence(np.nan), voter, getattr(voter, "recall_", None))


def join_frames(result: Vote) -> Vote:
    """The result with one threshold and uncertainty per bag, the means over its key frames; as it is without videos.

    Scores and votes of a key frame are shifted with its threshold, so that the same segments lie above it.
    """
    table = result.table
    if table.n_images == len(table.bag_labels):
        return result
    shifts = measure_shifts(table, result.thresholds)
    return replace(
        result,
        scores=result.scores + shifts,
        votes=result.votes + shifts,
        thresholds=table.average_by_bag(result.thresholds),
        uncertainty=table.average_by_bag(result.uncertainty),
        kept=None if result.kept is None else table.average_by_bag(result.kept) == 1,
    )


def measure_shifts(table: SegmentTable, thresholds: np.ndarray) -> np.ndarray:
    """(n_segments,) threshold of the bag less that of the image, by thresholds (n_images,)."""
    return (table.average_by_bag(thresholds)[table.image_bags] - thresholds)[table.images]


def decide_votes(
    table: SegmentTable, votes: np.ndarray, settings: Settings
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Scores (n_segments,), thresholds (n_bags,) and selection (n_segments,) of votes counted elsewhere."""
    scores = table.smooth(np.asarray(votes, dtype=np.float64), settings.smoothing)
    selected, thresholds = select(table, scores, settings.decision)
    return scores + measure_shifts(table, thresholds), table.average_by_bag(thresholds), selected
