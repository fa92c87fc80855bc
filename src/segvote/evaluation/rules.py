"""Four decision rules, from the scores of a voter to a selection of segments.

``common``: smoothing over adjacent segments, then the decision rule of the settings, the same for all voters. ``own``:
the voter's own threshold; the best segment of each image for negative mining, the largest connected component above the
image's mean for aggregation maps. ``printed``: the same after the second voting as the paper prints it, over all
adjacent segments alike. ``matched``: as many segments in all as the reference selected by the common rule, which is how
the paper sets CRANE's threshold. A finished voter has no threshold of its own.
"""

from __future__ import annotations

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from segvote.method.table import SegmentTable, smooth_along, weigh_adjacent
from segvote.method.threshold import select
from segvote.pipeline.video.frames import measure_shifts
from segvote.settings import Settings

RULES = ("common", "own", "printed", "matched")


def decide_by_rules(
    table: SegmentTable, votes: np.ndarray, settings: Settings, n_matched: int
) -> tuple[np.ndarray, np.ndarray, dict[str, np.ndarray]]:
    """Decide by all rules: scores (n_segments,) and thresholds (n_bags,) of the common rule, and each rule's selection.

    The common rule is that of the settings on the votes (n_segments,) of one voter; ``matched`` selects `n_matched`
    segments.
    """
    scores, thresholds, common = decide_votes(table, votes, settings)
    twice = vote_twice(table, votes, settings.smoothing)
    selections = {
        "common": common,
        "own": common if settings.finish else _select_own(table, votes, settings.voter, n_matched),
        "printed": common if settings.finish else _select_own(table, twice, settings.voter, n_matched),
        "matched": _select_count(table, votes, n_matched),
    }
    return scores, thresholds, selections


def decide_votes(
    table: SegmentTable, votes: np.ndarray, settings: Settings
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Scores (n_segments,), thresholds (n_bags,) and selection (n_segments,) of votes counted elsewhere."""
    scores = table.smooth(np.asarray(votes, dtype=np.float64), settings.smoothing)
    selected, thresholds = select(table, scores, settings.decision)
    return scores + measure_shifts(table, thresholds), table.average_by_bag(thresholds), selected


def vote_twice(table: SegmentTable, votes: np.ndarray, share: float) -> np.ndarray:
    """The second voting as printed: (1 - l) f_i + l times the mean of f over all adjacent segments; l is `share`.

    A segment without neighbours keeps its score.
    """
    n_edges = len(table.edges)
    mean = weigh_adjacent(len(votes), table.edges, np.ones(n_edges), np.full(n_edges, np.nan))
    return smooth_along(mean, votes, share)


def _select_own(table: SegmentTable, votes: np.ndarray, voter: str, n_matched: int) -> np.ndarray:
    """Select by the threshold that the voter's own paper gives."""
    if voter == "crane":
        return _select_count(table, votes, n_matched)
    if voter == "scda":
        return _select_component(table, votes)
    if voter == "negmin":
        return _select_best(table, votes)
    return (votes > 0) & table.is_candidate


def _select_component(table: SegmentTable, votes: np.ndarray) -> np.ndarray:
    """Select the largest connected component of the segments above their image's mean (weighted by area)."""
    selected = np.zeros(len(votes), dtype=bool)
    bags = table.bags[table.edges[:, 0]]
    for index in np.flatnonzero(table.bag_labels):
        part = slice(*table.bag_offsets[index : index + 2])
        edges = table.edges[bags == index] - part.start
        above = votes[part] > np.average(votes[part], weights=table.areas[part])
        kept = edges[above[edges].all(axis=1)] if len(edges) else edges
        graph = sparse.coo_array((np.ones(len(kept)), kept.T), shape=(len(above), len(above)))
        numbers = connected_components(graph, directed=False)[1]
        sizes = np.bincount(numbers, weights=np.where(above, table.areas[part], 0.0))
        selected[part] = above & (numbers == sizes.argmax())
    return selected


def _select_best(table: SegmentTable, votes: np.ndarray) -> np.ndarray:
    selected = np.zeros(len(votes), dtype=bool)
    for index in np.flatnonzero(table.bag_labels):
        start, stop = table.bag_offsets[index : index + 2]
        selected[start + np.argmax(votes[start:stop])] = True
    return selected


def _select_count(table: SegmentTable, votes: np.ndarray, n_selected: int) -> np.ndarray:
    """As many segments of *with* bags, more where scores tie: the paper's rule for CRANE."""
    shown = table.is_candidate
    if n_selected <= 0:
        return np.zeros(len(votes), dtype=bool)
    ranked = np.sort(votes[shown])[::-1]
    return (votes >= ranked[min(n_selected, len(ranked)) - 1]) & shown
