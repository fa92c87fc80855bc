"""The vote of a run: its segments and settings to the method, or to another voter inside of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from segvote.kernels import Neighbours
from segvote.method.ballot import Ballot
from segvote.method.graph import N_NEIGHBORS
from segvote.run.settings import METHOD, Settings
from segvote.steps.table import Table
from segvote.voters import VOTERS

if TYPE_CHECKING:
    from segvote.method import SegmentAnnotator

__all__ = ["count_neighbours", "decide_votes", "fit_annotator", "make_annotator"]


def make_annotator(settings: Settings) -> SegmentAnnotator:
    """The method with the parameters of a run, not fitted yet."""
    # scikit-learn takes a second to import: a command that does not vote does not wait for it.
    from segvote.method import SegmentAnnotator

    options = settings.voter_options
    parameters: dict[str, Any] = {
        "border_prior": settings.border_prior,
        "smoothing": settings.smoothing,
        "exclude_mislabelled": settings.exclude_mislabelled,
        "decision": settings.decision,
        "allow_empty": settings.unsure,
    }
    if settings.voter == METHOD:
        return SegmentAnnotator(**parameters, **{"n_neighbors": _choose_neighbours(settings.n_segments), **options})
    return SegmentAnnotator(VOTERS[settings.voter](**options), **parameters)


def _choose_neighbours(n_segments: int) -> int:
    """As large a part of an image's segments as the default is: three times as many are three times as alike."""
    return max(N_NEIGHBORS, round(N_NEIGHBORS * n_segments / Settings.n_segments))


def count_neighbours(settings: Settings) -> int:
    """How many neighbours of each segment the vote asks for; 0: none."""
    annotator = make_annotator(settings)
    return annotator.n_neighbors if annotator.voter is None else annotator.voter.n_searched


def fit_annotator(
    table: Table, settings: Settings, neighbours: Neighbours | None = None, user_labels: np.ndarray | None = None
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
    """
    annotator, n_neighbors = make_annotator(settings), count_neighbours(settings)
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
