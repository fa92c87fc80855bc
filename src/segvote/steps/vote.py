"""The vote of a run: its segments and settings to the method, or to another voter inside of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from segvote.kernels import Neighbours
from segvote.method.ballot import Ballot
from segvote.run.settings import Settings
from segvote.steps.table import Table
from segvote.steps.voting.making import count_neighbours, make_annotator

if TYPE_CHECKING:
    from segvote.method import SegmentAnnotator


def fit_annotator(
    table: Table,
    settings: Settings,
    neighbours: Neighbours | None = None,
    user_labels: np.ndarray | None = None,
    second_opinion: bool = True,
) -> SegmentAnnotator:
    """Let the segments vote.

    Parameters
    ----------
    table, settings
        What is voted on, and how.
    neighbours
        Those that `count_neighbours` asks for, if they are known; else they are searched.
    user_labels
        (n_segments,) corrections: -1 unknown, 0 background, 1 object; None: there are none.
    second_opinion
        False where it is known that the first one stands.
    """
    annotator, n_neighbors = make_annotator(settings), count_neighbours(settings)
    annotator.set_params(second_opinion=second_opinion)
    if neighbours is None and n_neighbors:
        neighbours = table.find_neighbours(n_neighbors)
    if neighbours is not None and annotator.voter is not None:
        annotator.voter.take_neighbours(neighbours)
        neighbours = None
    return annotator.fit(
        table.X,
        table.positive[table.bags],
        images=table.bags,
        geometry=table.make_geometry(settings.motion_prior),
        user_labels=user_labels,
        neighbours=neighbours,
    )


def decide_votes(table: Table, votes: np.ndarray, settings: Settings) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Scores (n_segments,), thresholds (n_bags,) and selection (n_segments,) of votes counted elsewhere."""
    segments = table.make_segments(settings.motion_prior)
    nobody = np.zeros(len(votes), dtype=bool)
    ballot = Ballot(segments, None, nobody, np.full(len(votes), -1, dtype=np.int8), settings.smoothing)  # type: ignore[arg-type]
    scores = ballot.smooth(np.asarray(votes, dtype=np.float64))
    selected, thresholds = ballot.select(scores, settings.decision)
    return scores, thresholds, selected
