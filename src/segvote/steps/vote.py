"""The vote of a run: its segments and settings to the method, or to another voter inside of it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from segvote.kernels import Neighbours
from segvote.method.ballot import Ballot
from segvote.run.settings import Settings
from segvote.steps.table import Table
from segvote.steps.voting.making import count_neighbours, make_annotator

if TYPE_CHECKING:
    from segvote.method import Result, SegmentAnnotator


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
        images=table.images,
        geometry=table.make_geometry(),
        user_labels=user_labels,
        neighbours=neighbours,
    )


def join_frames(table: Table, result: Result) -> Result:
    """A result with one threshold and one uncertainty per bag, the means over its key frames.

    Scores and votes of a key frame are shifted by what the threshold of its bag is above its own, so that the same
    segments lie above the threshold. The result itself where no bag is a video.
    """
    if len(table.groups) == len(table.positive):
        return result
    shifts = measure_shifts(table, result.thresholds)
    residuals = result.residuals and replace(result.residuals, scores=result.residuals.scores + shifts)
    return replace(
        result,
        scores=result.scores + shifts,
        votes=result.votes + shifts,
        thresholds=table.average_by_bag(result.thresholds),
        uncertainty=table.average_by_bag(result.uncertainty),
        residuals=residuals,
        kept=None if result.kept is None else table.average_by_bag(result.kept) == 1,
    )


def measure_shifts(table: Table, thresholds: np.ndarray) -> np.ndarray:
    """(n_segments,) what the threshold of the bag is above that of the image, by thresholds (n_images,)."""
    return (table.average_by_bag(thresholds)[table.groups] - thresholds)[table.images]


def decide_votes(table: Table, votes: np.ndarray, settings: Settings) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Scores (n_segments,), thresholds (n_bags,) and selection (n_segments,) of votes counted elsewhere."""
    segments = table.make_segments()
    nobody = np.zeros(len(votes), dtype=bool)
    ballot = Ballot(segments, None, nobody, np.full(len(votes), -1, dtype=np.int8), settings.smoothing)  # type: ignore[arg-type]
    scores = ballot.smooth(np.asarray(votes, dtype=np.float64))
    selected, thresholds = ballot.select(scores, settings.decision)
    return scores + measure_shifts(table, thresholds), table.average_by_bag(thresholds), selected
