"""The vote on a table of segments: by the method, or by another voter of the settings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from importlib import import_module
from threading import Thread
from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse
from scipy.special import expit

from segvote import __version__
from segvote.inputs.bags import Bag
from segvote.io.arrays import read_if_whole, write_arrays
from segvote.method.confidence import Confidence
from segvote.method.correct import (
    Correction,
    Estimate,
    Similarity,
    correct,
    make_estimate,
    refit_with_labels,
)
from segvote.method.extents import Extents, find_extents
from segvote.method.graph import N_NEIGHBORS
from segvote.method.hypotheses import VoteParams
from segvote.method.mislabelled import classify_held_out, find_near_duplicates, measure_suspicion
from segvote.method.prior import measure_border_prior
from segvote.method.table import SegmentTable
from segvote.method.teach import score_taught_held_out, teach
from segvote.method.threshold import select
from segvote.method.vote import Vote, decide_scores, weigh_segments
from segvote.method.whole_vote import vote_and_judge
from segvote.numerics import Neighbours, search_neighbours
from segvote.run.record import list_versions
from segvote.run.run_folder import RunFolder, make_key
from segvote.selection import Selection
from segvote.settings import Settings
from segvote.voters import METHOD, keeps_lengths, make_voter
from segvote.voters.options import check_options

if TYPE_CHECKING:
    from segvote.voters.base import BaseVoter

# Raised when the search of neighbours changes: those in run folders are then not used.
NEIGHBOURS_VERSION = 2


@dataclass(frozen=True)
class Lesson:
    """Finished images, and the vote before they took part."""

    before: Vote
    finished: np.ndarray  # (n_segments,) share of each segment that is object; NaN in other images


@dataclass(frozen=True)
class BaseVote:
    """The outcome of a vote before corrections, by the method or by another voter, and how far to trust it."""

    source: Vote | BaseVoter  # the vote of the method, or the voter that gave the scores
    estimate: Estimate  # table and selection
    params: VoteParams
    suspicion: np.ndarray  # (n_images,) similarity to the other folder, in [0, 1]
    confidence: Confidence
    alternatives: tuple[Vote, ...] = ()  # the vote and others that select something else; of the method only
    lesson: Lesson | None = None  # finished images that took part
    recall: float | None = None  # share of the true neighbours that the search found; None: no search
    near_duplicates: Sequence[tuple[int, int]] = ()  # numbers of bags, one of each folder

    @property
    def table(self) -> SegmentTable:
        """The segments that were voted on."""
        return self.estimate.table

    @property
    def selection(self) -> Selection:
        """The selection at the default extent."""
        return self.estimate.selection

    @property
    def is_method(self) -> bool:
        """Whether the method voted, not another voter."""
        return isinstance(self.source, Vote)

    @property
    def excluded(self) -> np.ndarray:
        """(n_images,) bool: images that do not vote; the method only excludes any."""
        if isinstance(self.source, Vote):
            return self.source.diagnostics.excluded
        return np.zeros(self.table.n_images, dtype=bool)

    @property
    def graph(self) -> sparse.csr_matrix | None:
        """(n_segments, n_segments) votes of the neighbours; None for another voter, which has none."""
        return self.source.inputs.graph if isinstance(self.source, Vote) else None

    @cached_property
    def similarity(self) -> Similarity:
        """Similarity of the segments, by which corrections are propagated."""
        return Similarity(self.table.X, self.table.images)

    def refit(self, user_labels: np.ndarray | None) -> BaseVote:
        """The vote in which user labels (n_segments,) take part; another voter than the method is not refitted."""
        if not isinstance(self.source, Vote) or user_labels is None:
            return self
        if self.lesson is not None:
            return self._replace_vote(teach(self.lesson.before, self.lesson.finished, user_labels))
        return self._replace_vote(refit_with_labels(self.source, user_labels))

    def choose(self, number: int) -> BaseVote:
        """The alternative with this number, 0 the vote itself."""
        return self._replace_vote(self.alternatives[number]) if 0 < number < len(self.alternatives) else self

    def teach(self, finished: np.ndarray | None) -> BaseVote:
        """The vote after images were finished, see `segvote.method.teach.teach`; of the method only."""
        if not isinstance(self.source, Vote) or finished is None:
            return self
        taught = self._replace_vote(teach(self.source, finished))
        return replace(taught, lesson=Lesson(self.source, finished))

    def _replace_vote(self, vote: Vote) -> BaseVote:
        return self if vote is self.source else replace(self, source=vote, estimate=make_estimate(vote))

    def score_held_out(self, folds: np.ndarray) -> np.ndarray:
        """(n_segments,) scores before smoothing, each from a vote without its fold (n_images,); of the method only."""
        if not isinstance(self.source, Vote):
            raise TypeError("expected a vote of the method; other voters are fitted again instead")
        if self.lesson is None:
            return self.source.score_held_out(folds)
        return score_taught_held_out(self.lesson.before, self.source, self.lesson.finished, folds)

    def correct(
        self, user_labels: np.ndarray | None, painted: np.ndarray | None = None, refitted: BaseVote | None = None
    ) -> Correction:
        """The selection with corrections, see `segvote.method.correct.correct`."""
        refitted = self.refit(user_labels) if refitted is None else refitted
        return correct(self.estimate, refitted.estimate, self.similarity, user_labels, painted)

    def find_extents(self, selection: Selection) -> Extents:
        """The nested selections of this one, which may have corrections; without votes of neighbours none grows."""
        graph = None
        if isinstance(self.source, Vote):
            graph = replace(self.source.electorate, user_labels=selection.user_labels).graph
        return find_extents(self.table, selection, graph)

    def weigh_segments(self, selection: Selection) -> np.ndarray:
        """(n_segments,) soft labels in [0, 1] of the selection, which may have corrections."""
        if isinstance(self.source, Vote):
            return weigh_segments(self.table, selection, self.source.scorer.compute_soft_labels(selection.scores))
        # The scores of another voter have no scale: a logistic curve of their standard deviation stands for it.
        return weigh_segments(self.table, selection, expit(selection.scores / (float(selection.scores.std()) or 1.0)))

    def relabel(self, positive: np.ndarray) -> BaseVote:
        """The vote on the same segments with other bag labels (n_bags,) bool; neighbours are not searched again."""
        table = self.table.relabel(positive)
        if not isinstance(self.source, Vote):
            return _ask_voter(table, self.source, self.params)
        return _ask_method(table, self.source.inputs.graph, self.params, self.recall)


def load_method() -> None:
    """Import scikit-learn in the background, while other processes extract features."""
    # Not a daemon: a program that ends early has to wait for the import.
    Thread(target=import_module, args=("sklearn.linear_model",)).start()


def make_params(settings: Settings) -> VoteParams:
    """The parameters of a run's vote."""
    check_options(settings.voter, settings.voter_options)
    options = settings.voter_options if settings.voter == METHOD else {}
    # The default share of an image's segments: of three times as many segments, three times as many are similar.
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


def hold_vote(table: SegmentTable, settings: Settings, neighbours: Neighbours | None = None) -> BaseVote:
    """Vote on a table; the neighbours that `count_neighbours` asks for are searched where they are not given."""
    params, n_neighbors = make_params(settings), count_neighbours(settings)
    if settings.voter != METHOD:
        if neighbours is None and n_neighbors:
            neighbours = _search(table, n_neighbors)
        voter = make_voter(settings.voter, settings.voter_options, settings.finish)
        return _ask_voter(table, voter, params, neighbours)
    neighbours = _search(table, n_neighbors) if neighbours is None else neighbours
    near_duplicates = find_near_duplicates(table, neighbours.indices[:, 0])
    return _ask_method(table, neighbours.build_graph(), params, neighbours.recall, near_duplicates)


def _search(table: SegmentTable, n_neighbors: int) -> Neighbours:
    return search_neighbours(table.X, table.X, n_neighbors, table.bags, table.bags)


def _ask_method(
    table: SegmentTable,
    graph: sparse.csr_matrix,
    params: VoteParams,
    recall: float | None,
    near_duplicates: Sequence[tuple[int, int]] = (),
) -> BaseVote:
    """The vote of the method."""
    alternatives, confidence = vote_and_judge(table, graph, params)
    vote = alternatives[0]
    return BaseVote(
        vote,
        make_estimate(vote),
        params,
        vote.diagnostics.suspicion,
        confidence,
        alternatives=tuple(alternatives),
        recall=recall,
        near_duplicates=near_duplicates,
    )


def _ask_voter(
    table: SegmentTable, voter: BaseVoter, params: VoteParams, neighbours: Neighbours | None = None
) -> BaseVote:
    """The decision on another voter's scores."""
    prior = table.prior * measure_border_prior(table.border, params.border_prior)
    voter.fit(table.X, table.is_candidate, bags=table.bags, prior=prior, neighbours=neighbours)
    selection = decide_scores(table, voter.scores_, params)
    estimate = Estimate(table, selection, np.empty((0, len(table)), dtype=bool))
    suspicion = measure_suspicion(table, selection.scores, classify_held_out(table))
    return BaseVote(voter, estimate, params, suspicion, Confidence(np.nan), recall=getattr(voter, "recall_", None))


def fetch_neighbours(run: RunFolder, bags: Sequence[Bag], table: SegmentTable, settings: Settings) -> Neighbours | None:
    """The neighbours that a voter asks for, from the cache or searched; None for a voter that asks for none.

    The search is most of the work of a vote. Distances are stored exactly: a vote from the cache has the same bits.
    """
    n_neighbors = count_neighbours(settings)
    if not n_neighbors:
        return None
    known = _read(run, _encode_name(bags, settings), len(table))
    return _search(table, n_neighbors) if known is None else known


def keep_neighbours(run: RunFolder, bags: Sequence[Bag], settings: Settings, neighbours: Neighbours) -> None:
    """Store neighbours; those stored before are replaced."""
    # Numbers of segments fit into four bytes. Files hold finite numbers only; an index of -1 marks no neighbour.
    # Distances are computed in four bytes, and stored so.
    indices = neighbours.indices.astype(np.int32)
    squared = np.where(indices < 0, 0.0, neighbours.squared).astype(np.float32)
    name, recall = _encode_name(bags, settings), np.array([neighbours.recall])
    write_arrays(run.neighbours_path, name=name, recall=recall, squared=squared, indices=indices)


def _encode_name(bags: Sequence[Bag], settings: Settings) -> np.ndarray:
    """Bytes of the key of the neighbours, by segments, features and versions; not by the bag labels."""
    key = make_key(
        neighbours=NEIGHBOURS_VERSION,
        version=__version__,
        versions=list_versions(),
        n_neighbors=count_neighbours(settings),
        has_lengths=keeps_lengths(settings.voter),
        features=[settings.features, settings.feature_options, [bag.features_key for bag in bags]],
    )
    return np.frombuffer(key.encode(), dtype=np.uint8)


def _read(run: RunFolder, name: np.ndarray, n_segments: int) -> Neighbours | None:
    arrays = read_if_whole(run.neighbours_path) or {}
    squared, indices, recall = (arrays.get(key, np.empty(0)) for key in ("squared", "indices", "recall"))
    if not np.array_equal(arrays.get("name", ()), name) or indices.dtype != np.int32 or recall.shape != (1,):
        return None
    if indices.ndim != 2 or squared.shape != indices.shape or len(indices) != n_segments:
        return None
    # Compiled code reads rows of these numbers without a check.
    if indices.min(initial=0) < -1 or indices.max(initial=0) >= n_segments or not np.isfinite(squared).all():
        return None
    return Neighbours(np.where(indices < 0, np.inf, squared.astype(np.float64)), indices, n_segments, float(recall[0]))


def join_frames(table: SegmentTable, selection: Selection) -> Selection:
    """The selection with one threshold and uncertainty per bag, means over its key frames; unchanged without videos.

    Scores and votes of a key frame are shifted with its threshold, so that the same segments lie above it.
    """
    if table.n_images == len(table.bag_labels):
        return selection
    shifts = measure_shifts(table, selection.thresholds)
    return replace(
        selection,
        offsets=table.bag_offsets,
        scores=selection.scores + shifts,
        unsmoothed=selection.unsmoothed + shifts,
        thresholds=table.average_by_bag(selection.thresholds),
        uncertainty=table.average_by_bag(selection.uncertainty),
        empty=table.average_by_bag(selection.empty) == 1,
        extent=selection.extent[np.unique(table.image_bags, return_index=True)[1]],
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
