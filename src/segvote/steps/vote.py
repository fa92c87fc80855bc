"""The vote on a table of segments: by the method, or by another voter of the settings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from importlib import import_module
from threading import Thread
from typing import TYPE_CHECKING

import numpy as np

from segvote import __version__
from segvote.io.arrays import read_if_whole, write_arrays
from segvote.kernels import Neighbours, search_neighbours
from segvote.method.confidence import Confidence, vote_and_judge
from segvote.method.corrections import Similarity, correct, refit_with_labels
from segvote.method.decide import select
from segvote.method.graph import N_NEIGHBORS
from segvote.method.held_out import find_near_duplicates
from segvote.method.hypotheses import VoteParams
from segvote.method.table import SegmentTable
from segvote.method.vote import Vote, vote_by_scores
from segvote.method.walk import measure_border_prior
from segvote.run.bags import Bag
from segvote.run.record import list_versions
from segvote.run.run_folder import RunFolder, make_key
from segvote.run.settings import Settings
from segvote.voters import METHOD, keeps_lengths, make_voter
from segvote.voters.options import check_options

if TYPE_CHECKING:
    from segvote.voters.base import BaseVoter

# Raised when the search of neighbours changes: those in run folders are then not used.
NEIGHBOURS_VERSION = 2


@dataclass(frozen=True)
class Held:
    """A vote without corrections, and how far to trust it."""

    vote: Vote
    confidence: Confidence
    voter: BaseVoter | None = None  # that gave the scores; None: the method
    recall: float | None = None  # share of the true neighbours that the search found; None: no search
    near_duplicates: Sequence[tuple[int, int]] = ()  # numbers of bags, one of each folder

    @cached_property
    def similarity(self) -> Similarity:
        """Similarity of the segments, by which corrections are propagated."""
        return Similarity(self.vote.table.X, self.vote.table.images)

    def refit(self, user_labels: np.ndarray | None) -> Vote:
        """The vote in which user labels (n_segments,) take part; the method only."""
        return refit_with_labels(self.vote, user_labels, self.confidence.is_low)

    def correct(
        self, user_labels: np.ndarray | None, painted: np.ndarray | None = None, refitted: Vote | None = None
    ) -> Vote:
        """The vote with corrections, see `segvote.method.corrections.correct`."""
        low = self.confidence.is_low
        return correct(self.vote, user_labels, painted, refitted=refitted, similarity=self.similarity, low=low)

    def relabel(self, positive: np.ndarray) -> Held:
        """The vote on the same segments with other bag labels (n_bags,) bool; neighbours are not searched again."""
        table = self.vote.table.relabel(positive)
        if self.voter is not None:
            return _ask_voter(table, self.voter, self.vote.params)
        return Held(*vote_and_judge(table, self.vote.graph, self.vote.params), recall=self.recall)


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


def hold_vote(table: SegmentTable, settings: Settings, neighbours: Neighbours | None = None) -> Held:
    """Vote on a table; the neighbours that `count_neighbours` asks for are searched where they are not given."""
    params, n_neighbors = make_params(settings), count_neighbours(settings)
    if neighbours is None and n_neighbors:
        neighbours = search_neighbours(table.X, table.X, n_neighbors, table.bags, table.bags)
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


def fetch_neighbours(run: RunFolder, bags: Sequence[Bag], table: SegmentTable, settings: Settings) -> Neighbours | None:
    """The neighbours that a voter asks for, from the cache or searched; None for a voter that asks for none.

    The search is most of the work of a vote. Distances are stored exactly: a vote from the cache has the same bits.
    """
    n_neighbors = count_neighbours(settings)
    if not n_neighbors:
        return None
    known = _read(run, _encode_name(bags, settings), len(table))
    return search_neighbours(table.X, table.X, n_neighbors, table.bags, table.bags) if known is None else known


def keep_neighbours(run: RunFolder, bags: Sequence[Bag], settings: Settings, found: Neighbours) -> None:
    """Store neighbours; those stored before are replaced."""
    # Numbers of segments fit into four bytes. Files hold finite numbers only; an index of -1 marks no neighbour.
    indices, squared = found.indices.astype(np.int32), np.where(found.indices < 0, 0.0, found.squared)
    name, recall = _encode_name(bags, settings), np.array([found.recall])
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
    return Neighbours(np.where(indices < 0, np.inf, squared), indices, n_segments, float(recall[0]))


def join_frames(result: Vote) -> Vote:
    """The result with one threshold and uncertainty per bag, the means over its key frames; unchanged without videos.

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
