"""A second vote on discriminatively scaled features, where the confidence in the first is below `UNSURE`.

Neighbours are near each other by all their features, and with few images most of that is scene: dogs on lawns against
cats indoors end in the lawn. The second vote walks over neighbours in features stretched along the direction that
separates *with* from *without* segments. That direction has seen the folder labels, so the second vote is scored on the
neighbours as they were, and replaces the first only where it contradicts it and is better.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy import sparse

from segvote.method.confidence import UNSURE, Confidence, measure_confidence
from segvote.method.consistency import measure_overlap
from segvote.method.graph import N_NEIGHBORS, stretch
from segvote.method.hypotheses import value_contrast
from segvote.method.linear import fit_direction
from segvote.method.permutation import PermutationTest
from segvote.method.table import SegmentTable
from segvote.method.vote import Vote, vote
from segvote.numerics import search_neighbours

# Factor by which features are stretched along the direction that separates the folders.
GAIN = 4.0
# Above this many segments the second vote, which needs its own neighbour search, is skipped: there are enough images
# for the first.
MOST_SEGMENTS = 50_000
# Two selections that overlap by less are of different objects.
SAME_OBJECT = 0.5
# Bonus of a selection that is not connected to the image border, in self-consistency.
APART_WEIGHT = 0.3
# How much better than the first the second vote has to be, in self-consistency.
MARGIN = 0.05
# A first vote with this score is not overruled, and the second is not held: of 73 first votes on draws and whole sets
# none above .74 was (docs/research/measurements.md).
SETTLED = 0.9


def choose_vote(first: Vote, test: PermutationTest) -> tuple[Vote, Confidence]:
    """The first vote or, where its confidence is below `UNSURE`, a second one that overrules it; and its confidence."""
    confidence = measure_confidence(first, test)
    # Where *with* images may be without the object, the labels of the folders separate too little.
    if confidence.value >= UNSURE or first.inputs.params.allow_empty or len(first.table) > MOST_SEGMENTS:
        return first, confidence
    if score_vote(first) >= SETTLED:
        return first, confidence
    second = _vote_again(first)
    if not is_overruled(first, second):
        return first, confidence
    return second, measure_confidence(second, test, contradicted=True)


def _vote_again(first: Vote) -> Vote:
    """The vote by a walk over the neighbours in stretched features."""
    stretched = search_stretched_graph(first.table, first.inputs.params.n_neighbors)
    return vote(replace(first.inputs, walk_graph=stretched))


def search_stretched_graph(table: SegmentTable, n_neighbors: int = N_NEIGHBORS) -> sparse.csr_matrix:
    """As `search_graph`, of other images, on features stretched along the direction that separates the folders."""
    direction = fit_direction(table.X, table.is_candidate, np.ones(len(table), dtype=bool), table.moments)
    direction /= max(float(np.linalg.norm(direction)), np.finfo(float).tiny)
    # Other key frames of the same video take part: with few videos most views of the object are in them, and the
    # outcome is judged on the neighbours of `search_graph`, which leave them out.
    X = stretch(table.X, direction, GAIN)
    return search_neighbours(X, X, n_neighbors, table.images, table.images).build_graph()


def is_overruled(first: Vote, second: Vote) -> bool:
    """Whether another vote on the same segments selects another object, and is clearly better."""
    overlap = measure_overlap(first.table.areas, first.selection.selected, second.selection.selected)
    return overlap < SAME_OBJECT and score_vote(second) > score_vote(first) + MARGIN


def score_vote(vote: Vote) -> float:
    """Score of the best selection of the hypotheses, on the neighbours as they are.

    Self-consistency times the root of the walks' mutual overlap, plus a bonus for the contrast of the outlines, and for
    the part of the selection that is not connected to the image border.
    """
    table, hypotheses, scores = vote.table, vote.diagnostics.hypotheses, []
    areas, selections = table.areas * table.is_candidate, hypotheses.selections
    for index, (selected, consistency) in enumerate(zip(selections, hypotheses.consistencies, strict=True)):
        others = np.delete(selections, index, axis=0)
        mutual = float(np.mean([measure_overlap(areas, selected, other) for other in others])) if len(others) else 1.0
        apart = 1 - float(np.average(vote.inputs.connectivity[selected], weights=areas[selected]))
        bonus = value_contrast(table, selected, vote.inputs.params) + APART_WEIGHT * apart
        scores.append(consistency * mutual**0.5 + bonus)
    return max(scores)
