"""The vote on a table of segments: by the method, or by another voter of the settings."""

from __future__ import annotations

from dataclasses import replace
from importlib import import_module
from threading import Thread

from segvote.method.graph import N_NEIGHBORS
from segvote.method.hypotheses import VoteParams
from segvote.method.mislabelled import find_near_duplicates
from segvote.method.table import SegmentTable
from segvote.method.whole_vote import vote_and_judge
from segvote.numerics import Neighbours, search_neighbours
from segvote.pipeline.base_vote import BaseVote, ask_voter, make_method_vote
from segvote.settings import Settings
from segvote.voters import METHOD, make_voter
from segvote.voters.options import check_options


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
            neighbours = search_table(table, n_neighbors)
        voter = make_voter(settings.voter, settings.voter_options, settings.finish)
        return ask_voter(table, voter, params, neighbours)
    neighbours = search_table(table, n_neighbors) if neighbours is None else neighbours
    near_duplicates = find_near_duplicates(table, neighbours.indices[:, 0])
    judged = vote_and_judge(table, neighbours.build_graph(), params)
    return make_method_vote(*judged, neighbours.recall, near_duplicates)


def search_table(table: SegmentTable, n_neighbors: int) -> Neighbours:
    """The nearest segments of other bags."""
    return search_neighbours(table.X, table.X, n_neighbors, table.bags, table.bags)
