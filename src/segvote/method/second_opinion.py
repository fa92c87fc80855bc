"""A second opinion where a vote is not sure: neighbours by what tells the folders apart.

Segments are near each other by all that they show, and with few images most of that is scene: dogs on lawns against
cats indoors end in the lawn. Features stretched along the direction that tells *with* from *without* segments bring
together what the folders differ in. That direction has seen the folders' labels, so an opinion formed this way is
judged on the neighbours as they were, and adopted only where it contradicts the first one and is clearly the better.
"""

from __future__ import annotations

import numpy as np
from scipy import sparse

from segvote.kernels import Neighbours
from segvote.method.ballot import Ballot
from segvote.method.consistency import measure_outline_contrast, measure_overlap
from segvote.method.hypotheses import CONTRAST_WEIGHT, Agreement
from segvote.method.linear import fit_direction
from segvote.method.table import SegmentTable

# A second opinion costs a search of its own; so many segments come from enough images for the first one.
MOST_SEGMENTS = 50_000
# How far features are stretched.
GAIN = 4.0
# Two selections that overlap by less speak of different things.
OVERLAP = 0.5
# What a selection that nothing connects to the image border is worth, in self-consistency.
APART_WEIGHT = 0.3
# How much better than the first one the second opinion has to be, in self-consistency.
MARGIN = 0.05


def stretch(X: np.ndarray, direction: np.ndarray, gain: float) -> np.ndarray:
    """(n, d) ``x + (gain - 1) (u . x) u``: features stretched along u (d,), of length one or zero."""
    # Sums over columns, not products: a row's rounding then does not depend on how many rows there are.
    along = np.einsum("ij,j->i", X.astype(np.float64), direction)
    return (X + (gain - 1) * along[:, None] * direction).astype(X.dtype)


def build_stretched_graph(table: SegmentTable, n_neighbors: int) -> sparse.csr_matrix:
    """Votes of the nearest segments of other images by features stretched along what tells the folders apart."""
    direction = fit_direction(table.X, table.is_candidate, np.ones(len(table), dtype=bool))
    direction /= max(float(np.linalg.norm(direction)), np.finfo(float).tiny)
    return Neighbours.search(stretch(table.X, direction, GAIN), n_neighbors, table.images).build_graph()


def judge_opinion(ballot: Ballot, agreement: Agreement, connectivity: np.ndarray) -> float:
    """How good the best of an opinion's selections is, on the votes of the ballot and without a mask.

    Self-consistency times the root of the walks' mutual overlap, the contrast of the outlines (as the hypotheses are
    judged), and how little of the selection is connected to the image border.

    Parameters
    ----------
    ballot : Ballot
        With the votes that both opinions are judged on.
    agreement : Agreement
        What the walks came to.
    connectivity : (n_segments,)
        Of each segment with the border, in [0, 1].
    """
    areas = ballot.table.areas * ballot.table.is_candidate
    judged = []
    for index, (selected, consistency) in enumerate(zip(agreement.selections, agreement.consistencies, strict=True)):
        others = np.delete(agreement.selections, index, axis=0)
        mutual = np.mean([measure_overlap(areas, selected, other) for other in others])
        contrast = np.log(max(measure_outline_contrast(ballot.table, selected), 0.1))
        apart = 1 - float(np.average(connectivity[selected], weights=areas[selected]))
        judged.append(consistency.score * mutual**0.5 + CONTRAST_WEIGHT * contrast + APART_WEIGHT * apart)
    return max(judged)


def contradicts(table: SegmentTable, one: np.ndarray, other: np.ndarray) -> bool:
    """Whether two selections (n_segments,) bool speak of different things."""
    return measure_overlap(table.areas, one, other) < OVERLAP
