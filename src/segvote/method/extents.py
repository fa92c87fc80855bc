"""Nested selections of a vote, from the most distinctive part to the whole object.

Two folders do not determine the extent: a face or a cat, a nucleus or a cell. So a vote ends in nested extents, of
which you choose one. The inner extents cut the scores higher and lower (Otsu's thresholds for three classes beside the
one for two). The outer extents grow by votes: a segment adjacent to the selection joins it when the share of its
neighbours in other images that are selected, or adjacent to a selected segment of their own image, exceeds a bound;
neighbours in *without* images count against it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse

from segvote.method.consistency import measure_outline_contrast
from segvote.method.table import SegmentTable
from segvote.method.threshold import apply_thresholds, select_above
from segvote.numerics.otsu import split_in_three
from segvote.selection import DEFAULT_EXTENT, Selection, apply_labels

# Rounds of growth of each extent beyond the three cuts.
GROWTH_ROUNDS = (1, 3, 8)
N_EXTENTS = 3 + len(GROWTH_ROUNDS)
# Share of neighbours from which an adjacent segment joins.
GROWTH_BOUND = 0.8
# Extents that are compared with the default, and the ratio of areas from which they are another answer.
RIVAL_EXTENTS = (1, 3, 4)
HALF_MORE = 1.5
# The first extent of a segment that is never selected.
NEVER = N_EXTENTS + 1


@dataclass(frozen=True)
class Extents:
    """Nested selections; extent 1 is the tightest, `DEFAULT_EXTENT` that of the vote, `N_EXTENTS` the widest."""

    first_extents: np.ndarray  # (n_segments,) uint8 first extent that selects each segment; `NEVER` where none does
    thresholds: np.ndarray  # (3, n_images) scores above which segments are selected at the extents 1 to 3
    shares: np.ndarray  # (n_segments,) share of neighbours by which a segment joined, in [0, 1]; 0 for the others

    def select(self, extent: int) -> np.ndarray:
        """(n_segments,) bool: the selection at an extent."""
        return self.first_extents <= extent


def find_extents(table: SegmentTable, selection: Selection, graph: sparse.csr_matrix | None) -> Extents:
    """All extents of a selection; user labels hold at each of them.

    The graph (n_segments, n_segments) holds the votes by which adjacent segments join; without one none does.
    """
    thresholds = _find_thresholds(table, selection)
    empty, labels = selection.empty, selection.user_labels
    cuts = [apply_thresholds(table, selection.scores, cut, empty, labels) for cut in thresholds]
    cuts[0] &= cuts[1]
    cuts[2] |= cuts[1]
    grown, shares = [cuts[2]] * len(GROWTH_ROUNDS), np.zeros(len(table))
    if graph is not None:
        grown, shares = _grow(table, graph, cuts[2], table.is_candidate & (labels != 0))
    first_extents = NEVER - np.sum([*cuts, *grown], axis=0)
    return Extents(first_extents.astype(np.uint8), thresholds, shares)


def _grow(
    table: SegmentTable, graph: sparse.csr_matrix, selected: np.ndarray, may_join: np.ndarray
) -> tuple[list[np.ndarray], np.ndarray]:
    """Selections (n_segments,) after each of `GROWTH_ROUNDS`, and the shares (n_segments,) by which segments joined."""
    adjacent, shares, selections = join_adjacent(len(table), table.edges), np.zeros(len(table)), []
    for number in range(1, GROWTH_ROUNDS[-1] + 1):
        ring = find_ring(adjacent, selected) & may_join
        share = graph @ (selected | ring).astype(np.float64)
        joined = ring & (share > GROWTH_BOUND)
        shares[joined] = share[joined]
        selected = selected | joined
        if number in GROWTH_ROUNDS:
            selections.append(selected)
    return selections, shares


def _find_thresholds(table: SegmentTable, selection: Selection) -> np.ndarray:
    """(3, n_images) scores above which segments are selected at the extents 1 to 3, descending."""
    cuts = np.tile(selection.thresholds, (3, 1))
    for image in map(int, np.flatnonzero(table.positive & ~selection.empty)):
        part = table.get_slice(image)
        low, high = split_in_three(selection.scores[part], table.areas[part])
        cuts[0, image] = max(high, cuts[1, image])
        cuts[2, image] = min(low, cuts[1, image])
    return cuts


def join_adjacent(n_segments: int, edges: np.ndarray) -> sparse.csr_matrix:
    """(n_segments, n_segments) 1 for each pair of adjacent segments (m, 2)."""
    rows, columns = np.concatenate([edges, edges[:, ::-1]]).T.reshape(2, -1)
    return sparse.csr_matrix((np.ones(len(rows)), (rows, columns)), shape=(n_segments, n_segments))


def find_ring(adjacent: sparse.csr_matrix, selected: np.ndarray) -> np.ndarray:
    """(n_segments,) bool: segments adjacent to a selection."""
    return (adjacent @ selected.astype(np.float64) > 0) & ~selected


def apply_extents(selection: Selection, extents: Extents, chosen: np.ndarray | int) -> Selection:
    """The selection at an extent for all images, or at that of each (n_images,), with its thresholds and scores.

    Segments that joined by growth get a score between the threshold and the best score of their image, by their share.
    """
    n_images, images, scores = len(selection.thresholds), selection.images, selection.scores
    chosen = np.broadcast_to(np.asarray(chosen), (n_images,))
    thresholds = extents.thresholds[np.minimum(chosen, 3) - 1, np.arange(n_images)]
    own, cuts = chosen[images], thresholds[images]
    best = np.full(n_images, -np.inf)
    np.maximum.at(best, images, scores)
    above = np.maximum(best[images] - cuts, 1e-9)
    joined = (extents.first_extents > 3) & (extents.first_extents <= own)
    return replace(
        selection,
        thresholds=thresholds,
        scores=np.where(joined, np.maximum(scores, cuts + extents.shares * above), scores),
        selected=apply_labels(extents.first_extents <= own, selection.user_labels),
        extent=chosen,
    )


def find_open_extents(table: SegmentTable, extents: Extents, least_contrast: float) -> list[int]:
    """Extents beside the default that are as plausible: outlined by edges as it is, and larger or smaller by half.

    A nucleus in its cell, or the cell: two folders cannot tell which is meant. Outlines follow edges from
    `least_contrast` on, see `measure_outline_contrast`; nothing is plausible where the default itself does not.
    """
    selections = {extent: extents.select(extent) for extent in (DEFAULT_EXTENT, *RIVAL_EXTENTS)}
    areas = {extent: float(table.areas[selected].sum()) for extent, selected in selections.items()}
    if measure_outline_contrast(table, selections[DEFAULT_EXTENT]) < least_contrast:
        return []
    return [
        extent
        for extent in RIVAL_EXTENTS
        if max(areas[extent], areas[DEFAULT_EXTENT]) > HALF_MORE * min(areas[extent], areas[DEFAULT_EXTENT])
        and measure_outline_contrast(table, selections[extent]) >= least_contrast
    ]


# Images never seen ---------------------------------------------------------------------------------------------------


def select_unseen(
    scores: np.ndarray, areas: np.ndarray, edges: np.ndarray, shares: np.ndarray, threshold: float, extent: int
) -> tuple[np.ndarray, np.ndarray, float]:
    """Selection (n_segments,) of an image never seen at an extent, and the scores and threshold from which it follows.

    Scores and areas are (n_segments,), edges (m, 2) pairs of adjacent segments. `shares` (n_segments,) are those of
    training neighbours that are in the reach of the extent, see `find_reach`. Segments above the threshold are selected
    at the default extent.
    """
    low, high = split_in_three(scores, areas)
    cut = (max(high, threshold), threshold, min(low, threshold))[min(extent, 3) - 1]
    selected = select_above(scores, cut)
    adjacent, raised = join_adjacent(len(scores), edges), scores.copy()
    for _ in range(GROWTH_ROUNDS[extent - 4] if extent > 3 else 0):
        joined = find_ring(adjacent, selected) & (shares > GROWTH_BOUND)
        raised[joined] = np.maximum(scores[joined], cut + shares[joined] * max(float(scores.max()) - cut, 1e-9))
        selected = selected | joined
    return selected, raised, float(cut)


def find_reach(first_extents: np.ndarray, edges: np.ndarray, extent: int) -> np.ndarray:
    """(n_segments,) bool: training segments selected at an extent, by their `first_extents`, or adjacent to one."""
    selected = first_extents <= extent
    return selected | find_ring(join_adjacent(len(first_extents), edges), selected)
