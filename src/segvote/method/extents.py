"""Nested selections of a vote, from the most distinctive part to the whole object.

Two folders do not determine the extent: a face or a cat, a nucleus or a cell. So a vote ends in nested levels, of which
you choose one. The inner levels cut the scores higher and lower (Otsu's thresholds for three classes beside the one for
two). The outer levels grow by votes: a segment adjacent to the selection joins it when the share of its neighbours in
other images that are selected, or adjacent to a selected segment of their own image, exceeds a bound; neighbours in
*without* images count against it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse

from segvote.kernels.otsu import split_in_three
from segvote.method.decide import select_above
from segvote.method.table import apply_labels
from segvote.method.vote import Vote, select_above_thresholds

# Rounds of growth of each level beyond the three cuts.
GROWTH_ROUNDS = (1, 3, 8)
N_LEVELS = 3 + len(GROWTH_ROUNDS)
# The level that the vote decides by itself.
DEFAULT_LEVEL = 2
# Share of neighbours from which an adjacent segment joins.
GROWTH_BOUND = 0.8
# The level of a segment that is never selected.
NEVER = N_LEVELS + 1


@dataclass(frozen=True)
class Extents:
    """Nested selections; level 1 is the tightest, `DEFAULT_LEVEL` that of the vote, `N_LEVELS` the widest."""

    levels: np.ndarray  # (n_segments,) uint8 first level that selects each segment; `NEVER` where none does
    thresholds: np.ndarray  # (3, n_images) scores above which segments are selected at the levels 1 to 3
    shares: np.ndarray  # (n_segments,) share of neighbours by which a segment joined, in [0, 1]; 0 for the others

    def select(self, level: int) -> np.ndarray:
        """(n_segments,) bool: the selection at a level."""
        return self.levels <= level


def find_extents(found: Vote) -> Extents:
    """All levels of a vote; user labels hold at each of them."""
    table, thresholds = found.table, _find_thresholds(found)
    selections = [
        select_above_thresholds(table, found.scores, one, found.empty, found.user_labels) for one in thresholds
    ]
    selections[0] &= selections[1]
    selections[2] |= selections[1]
    adjacent, shares = join_adjacent(len(table), table.edges), np.zeros(len(table))
    current, may_join = selections[2], table.is_candidate & (found.user_labels != 0)
    for number in range(1, GROWTH_ROUNDS[-1] + 1):
        ring = find_ring(adjacent, current) & may_join
        share = found.counted_graph @ (current | ring).astype(np.float64)
        joined = ring & (share > GROWTH_BOUND)
        shares[joined] = share[joined]
        current = current | joined
        if number in GROWTH_ROUNDS:
            selections.append(current)
    levels = NEVER - np.sum(selections, axis=0)
    return Extents(levels.astype(np.uint8), thresholds, shares)


def _find_thresholds(found: Vote) -> np.ndarray:
    """(3, n_images) scores above which segments are selected at the levels 1 to 3, descending."""
    table, cuts = found.table, np.tile(found.thresholds, (3, 1))
    for image in map(int, np.flatnonzero(table.positive & ~found.empty)):
        part = table.get_slice(image)
        low, high = split_in_three(found.scores[part], table.areas[part])
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


def apply_levels(found: Vote, extents: Extents, levels: np.ndarray | int) -> Vote:
    """The vote with the selection of a level for all images, or of each (n_images,), and its thresholds and scores."""
    table = found.table
    levels = np.broadcast_to(np.asarray(levels), (table.n_images,))
    thresholds, scores, selected = decide_levels(extents, levels, found.scores, table.images)
    selected = apply_labels(selected, found.user_labels)
    return replace(found, selected=selected, thresholds=thresholds, scores=scores)


def decide_levels(
    extents: Extents, levels: np.ndarray, scores: np.ndarray, images: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Thresholds (n_images,), scores (n_segments,) and selection (n_segments,) at the level (n_images,) of each image.

    Segments that joined by growth get a score between the threshold and the best score of their image, by their share.
    """
    n_images = len(levels)
    thresholds = extents.thresholds[np.minimum(levels, 3) - 1, np.arange(n_images)]
    own, cuts = levels[images], thresholds[images]
    best = np.full(n_images, -np.inf)
    np.maximum.at(best, images, scores)
    above = np.maximum(best[images] - cuts, 1e-9)
    joined = (extents.levels > 3) & (extents.levels <= own)
    raised = np.where(joined, np.maximum(scores, cuts + extents.shares * above), scores)
    return thresholds, raised, extents.levels <= own


# Images never seen ---------------------------------------------------------------------------------------------------


def select_unseen(
    scores: np.ndarray, areas: np.ndarray, edges: np.ndarray, shares: np.ndarray, threshold: float, level: int
) -> tuple[np.ndarray, np.ndarray, float]:
    """Selection (n_segments,) of an image never seen at a level, and the scores and threshold from which it follows.

    Scores and areas are (n_segments,), edges (m, 2) pairs of adjacent segments. `shares` (n_segments,) are those of
    training neighbours that are in the reach of the level, see `find_reach`. Segments above the threshold are selected
    at the default level.
    """
    low, high = split_in_three(scores, areas)
    cut = (max(high, threshold), threshold, min(low, threshold))[min(level, 3) - 1]
    selected = select_above(scores, cut)
    adjacent, raised = join_adjacent(len(scores), edges), scores.copy()
    for _ in range(GROWTH_ROUNDS[level - 4] if level > 3 else 0):
        joined = find_ring(adjacent, selected) & (shares > GROWTH_BOUND)
        raised[joined] = np.maximum(scores[joined], cut + shares[joined] * max(float(scores.max()) - cut, 1e-9))
        selected = selected | joined
    return selected, raised, float(cut)


def find_reach(levels: np.ndarray, edges: np.ndarray, level: int) -> np.ndarray:
    """(n_segments,) bool: training segments selected at a level, by their first `levels`, or adjacent to one."""
    selected = levels <= level
    return selected | find_ring(join_adjacent(len(levels), edges), selected)
