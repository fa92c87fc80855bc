"""The vote with its confidence, and a second vote on discriminatively scaled features where that is not sure.

Segments are near each other by all that they show, and with few images most of that is scene: dogs on lawns against
cats indoors end in the lawn. Features stretched along the direction that tells *with* from *without* segments bring
together what the folders differ in. That direction has seen the folders' labels, so the second vote is judged on the
neighbours as they were, and replaces the first only where it contradicts it and is clearly better.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from segvote.method.confidence import UNSURE, Confidence, measure_confidence
from segvote.method.decide import measure_overlap
from segvote.method.graph import search_stretched_graph
from segvote.method.permutation import test_permutations
from segvote.method.table import SegmentTable
from segvote.method.vote import Vote, VoteParams, value_contrast, vote

# A second vote costs a search of its own; so many segments come from enough images for the first one.
MOST_SEGMENTS = 50_000
# Two selections that overlap by less are of different objects.
OVERLAP = 0.5
# Worth of a selection that is not connected to the image border, in self-consistency.
APART_WEIGHT = 0.3
# How much better than the first the second vote has to be, in self-consistency.
MARGIN = 0.05


@dataclass(frozen=True)
class Judged:
    """A vote without user labels, and how far to trust it."""

    vote: Vote
    confidence: Confidence


def vote_and_judge(table: SegmentTable, graph: sparse.csr_matrix, params: VoteParams = VoteParams()) -> Judged:
    """Hold the vote, judge it, and hold a second one where the first is not sure.

    Parameters
    ----------
    table, graph, params
        As for `vote`.
    """
    first = vote(table, graph, params)
    test = test_permutations(first)
    confidence = measure_confidence(first, test)
    # Where *with* images may be without the object, the labels of the folders tell too little apart.
    if confidence.value >= UNSURE or params.allow_empty or len(table) > MOST_SEGMENTS:
        return Judged(first, confidence)
    stretched = search_stretched_graph(table, params.n_neighbors)
    second = vote(table, graph, params, connectivity=first.connectivity, walk_graph=stretched)
    if not is_overruled(first, second):
        return Judged(first, confidence)
    return Judged(second, measure_confidence(second, test, contradicted=True))


def is_overruled(first: Vote, second: Vote) -> bool:
    """Whether another vote on the same segments selects something else, and is clearly better."""
    overlap = measure_overlap(first.table.areas, first.selected, second.selected)
    return overlap < OVERLAP and judge_vote(second) > judge_vote(first) + MARGIN


def judge_vote(found: Vote) -> float:
    """How good the best selection of the hypotheses is, on the neighbours as they are.

    Self-consistency times the root of the walks' mutual overlap, the contrast of the outlines, and how little of the
    selection is connected to the image border.
    """
    assert found.agreement is not None
    table, selections = found.table, found.agreement.selections
    areas, judged = table.areas * table.is_candidate, []
    for index, (selected, consistency) in enumerate(zip(selections, found.agreement.consistencies, strict=True)):
        others = np.delete(selections, index, axis=0)
        mutual = float(np.mean([measure_overlap(areas, selected, other) for other in others])) if len(others) else 1.0
        apart = 1 - float(np.average(found.connectivity[selected], weights=areas[selected]))
        worth = value_contrast(table, selected, found.params) + APART_WEIGHT * apart
        judged.append(consistency.score * mutual**0.5 + worth)
    return max(judged)
