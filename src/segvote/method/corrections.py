"""Corrections of a user: the only way in for user labels and painted strokes.

A user label holds for its segment. It also shows that the estimate was off at that segment, by a *residual* in units of
the decision, in which 1 is surely object, 0 the threshold and -1 surely background. Similar segments are moved by as
much, scaled by similarity. Corrections beside each other do not add up: their strengths are solved for (the mean of a
Gaussian process, with noise), so that together they come to the user labels. Labelled segments also take part in a new
vote (`refit_with_labels`), which is slower and of higher mean IoU on nearly all sets measured.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import cg

from segvote.method.table import SegmentTable, check_user_labels
from segvote.method.vote import Vote, apply_thresholds, vote

# A user label holds for its segment; for equal ones it holds with this noise.
NOISE = 0.3
TOLERANCE, MAX_ITERATIONS = 1e-9, 500
# Width of the similarity kernel, in squared distances from a segment to its tenth neighbour in other images. Sharp: at
# that distance a segment of the same image gets a twentieth of a correction.
WIDTH = 1 / 3
N_TYPICAL = 10
N_WIDTH_SAMPLES = 64
# A mistake is mostly one of its image: part of a correction that others get.
ELSEWHERE = 0.3
# Similarities below count as 0.
LEAST = 0.01


class Similarity:
    """Columns of a sharp kernel on features (n_segments, d), weaker across images; each is computed once."""

    def __init__(self, X: np.ndarray, images: np.ndarray) -> None:
        self._X, self._images = X, images
        self._columns: dict[int, tuple[np.ndarray, np.ndarray]] = {}

    @cached_property
    def _norms(self) -> np.ndarray:
        return np.einsum("ij,ij->i", self._X, self._X)

    @cached_property
    def width(self) -> float:
        """In squared distance, from a sample of segments; 0 where even the tenth neighbours are equal."""
        sample, typical = np.unique(np.linspace(0, len(self._X) - 1, N_WIDTH_SAMPLES).astype(np.int64)), []
        for segment in map(int, sample):
            others = self._measure_distances(segment)[self._images != self._images[segment]]
            if len(others):
                place = min(N_TYPICAL, len(others)) - 1
                typical.append(float(np.partition(others, place)[place]))
        return WIDTH * float(np.median(typical)) if typical else 0.0

    def _measure_distances(self, segment: int) -> np.ndarray:
        """(n_segments,) squared distances; no matrix product, whose rounding depends on threads."""
        products = np.einsum("ij,j->i", self._X, self._X[segment])
        return np.maximum(self._norms + self._norms[segment] - 2 * products, 0)

    def _measure_column(self, segment: int) -> tuple[np.ndarray, np.ndarray]:
        """Numbers of similar segments, and their similarity."""
        distances = self._measure_distances(segment).astype(np.float64)
        similar = np.exp(-distances / self.width) if self.width > 0 else (distances <= 0).astype(np.float64)
        similar[self._images != self._images[segment]] *= ELSEWHERE
        similar[segment] = 1.0
        near = np.flatnonzero(similar >= LEAST)
        return near, similar[near]

    def measure(self, segments: np.ndarray) -> sparse.csc_matrix:
        """(n_segments, len(segments)): similarity of every segment to each of these, in [0, 1]."""
        for segment in map(int, segments):
            if segment not in self._columns:
                self._columns[segment] = self._measure_column(segment)
        columns = [self._columns[int(segment)] for segment in segments]
        near, similar = (np.concatenate(one) for one in zip(*columns, strict=True))
        ends = np.cumsum([0, *(len(one) for one, _ in columns)])
        return sparse.csc_matrix((similar, near, ends), shape=(len(self._X), len(columns)))


# From a vote to a corrected one --------------------------------------------------------------------------------------


def refit_with_labels(base: Vote, user_labels: np.ndarray | None, low: bool = False) -> Vote:
    """The vote `base`, which has none, with user labels (n_segments,): -1 unknown, 0 background, 1 object.

    Labelled segments vote with their label, walks that contradict them lose weight, and the linear classifier learns
    from them. Where the confidence of the base is low, the walk starts from the object labels.
    """
    labels = check_user_labels(user_labels, len(base.table))
    if base.agreement is None or not (labels >= 0).any():
        return base
    seeded = low and bool((labels == 1).any())
    return vote(
        base.table,
        base.graph,
        base.params,
        labels,
        connectivity=base.connectivity,
        walk_graph=base.walk_graph,
        seeded=seeded,
        # Scores with and without corrections are compared: both have the same zero, unless the vote begins anew.
        threshold=None if seeded else base.threshold,
    )


def correct(
    base: Vote,
    user_labels: np.ndarray | None,
    painted: np.ndarray | None = None,
    *,
    refitted: Vote | None = None,
    similarity: Similarity | None = None,
    low: bool = False,
) -> Vote:
    """The vote `base`, which has none, with corrections: user labels hold, and move similar segments.

    User labels are -1 unknown, 0 background, 1 object. `painted` is the part of each segment that was painted object,
    in [0, 1], or background, in [-1, 0]; painted segments move no other segment of their own image, and themselves only
    where they have a user label. The vote of `refit_with_labels` may be given, perhaps of fewer labels, which is
    quicker.

    Thresholds stay where the vote left them. An image in which corrections turn no segment keeps its scores: masks are
    drawn along edges, where a drift of a thousandth can turn a superpixel. On a base of low confidence, whose vote
    begins anew, no image is kept.
    """
    labels = check_user_labels(user_labels, len(base.table))
    if not (labels >= 0).any() and (painted is None or not painted.any()):
        return base
    similarity = similarity or Similarity(base.table.X, base.table.images)
    refitted = refit_with_labels(base, labels, low) if refitted is None else refitted
    found = propagate(refitted, similarity, labels, painted)
    if painted is not None and painted.any():
        # From painted segments to other images only: their own has the corrections by clicks alone.
        images, is_painted = base.table.images, painted != 0
        clicked = propagate(refitted, similarity, np.where(is_painted, np.int8(-1), labels))
        found = _replace_segments(found, clicked, np.isin(images, images[is_painted]) & (labels < 0))
    return found if low else _keep_unturned(found, base, propagate(base, similarity, labels, painted))


def propagate(found: Vote, similarity: Similarity, user_labels: np.ndarray, painted: np.ndarray | None = None) -> Vote:
    """A vote whose scores user labels and painted parts have moved."""
    table = found.table
    painted = np.zeros(len(table)) if painted is None else painted
    scores, residuals = move_scores(similarity, table, found.scores, found.thresholds, user_labels, painted)
    return replace(apply_thresholds(replace(found, user_labels=user_labels), scores), residuals=residuals)


def _keep_unturned(found: Vote, base: Vote, moved: Vote) -> Vote:
    """The corrected vote, in which images that no correction turned have the scores of the base, and their user labels.

    `moved` is the base with the corrections propagated.
    """
    table, free = found.table, found.user_labels < 0
    held = _replace_segments(moved, base, free)
    labelled = table.sum_by_image(~free) > 0
    kept = table.sum_by_image(found.selected != held.selected) == 0
    return replace(
        _replace_segments(found, held, kept[table.images]),
        thresholds=np.where(kept, base.thresholds, found.thresholds),
        uncertainty=np.where(kept, np.where(labelled, moved.uncertainty, base.uncertainty), found.uncertainty),
        kept=kept,
    )


def _replace_segments(found: Vote, other: Vote, chosen: np.ndarray) -> Vote:
    """A vote in which the chosen segments (n_segments,) bool have scores and selection of another."""
    assert found.residuals is not None
    residuals = sparse.diags_array((~chosen).astype(np.float64)) @ found.residuals
    if other.residuals is not None:
        residuals = residuals + sparse.diags_array(chosen.astype(np.float64)) @ other.residuals
    residuals = sparse.csr_matrix(residuals)
    residuals.eliminate_zeros()
    return replace(
        found,
        scores=np.where(chosen, other.scores, found.scores),
        votes=np.where(chosen, other.votes, found.votes),
        selected=np.where(chosen, other.selected, found.selected),
        residuals=residuals,
    )


# Residuals -----------------------------------------------------------------------------------------------------------


def move_scores(
    similarity: Similarity,
    table: SegmentTable,
    scores: np.ndarray,
    thresholds: np.ndarray,
    user_labels: np.ndarray,
    painted: np.ndarray,
) -> tuple[np.ndarray, sparse.csr_matrix]:
    """Change scores (n_segments,) by user labels and painted parts.

    A labelled segment becomes as certain as the best of its image, or the worst of the run. A part p that was painted
    is a correction with noise `NOISE` / \\|p\\|. Segments of *without* images are moved by their own label only.
    Returns the scores, of which untouched ones are equal to the last bit, and the residuals (n_segments, n_segments):
    the change of each row's score by the correction of each column's segment.
    """
    held = user_labels >= 0
    voters = np.flatnonzero(held | (painted != 0))
    if not len(voters):
        return scores, sparse.csr_matrix((len(table), len(table)))
    targets = np.where(held, 2.0 * user_labels - 1, np.sign(painted))[voters]
    noise = NOISE / np.where(painted != 0, np.abs(painted), 1.0)[voters]
    cuts, above, below = _measure_ranges(table, scores, thresholds)
    gaps = scores - cuts
    certainty = np.clip(gaps / np.where(gaps > 0, above, below), -1.0, 1.0)
    similar = similarity.measure(voters).tocsr()
    # Strengths with which corrections, some of them similar, come to their residuals together.
    system = (similar[voters] + sparse.diags_array(noise)).tocsr()
    strengths = cg(system, targets - certainty[voters], rtol=TOLERANCE, maxiter=MAX_ITERATIONS)[0]
    votes = similar @ sparse.diags_array(strengths)
    moved = np.asarray(votes.sum(axis=1)).ravel() * table.is_candidate
    certainty = np.clip(certainty + moved, -1.0, 1.0)
    certainty[held], moved[held] = 2.0 * user_labels[held] - 1, 1.0
    after = np.where(moved != 0, cuts + certainty * np.where(certainty > 0, above, below), scores)
    return after, _share(votes.tocoo(), voters, held, moved, after - scores)


def _measure_ranges(table: SegmentTable, scores: np.ndarray, thresholds: np.ndarray) -> list[np.ndarray]:
    """(n_segments,) threshold of the segment's image, and the range of scores above and below it.

    As heat is scaled: a *with* image by its own best score, a *without* image by that of the run.
    """
    best = np.where(table.positive, table.find_best(scores), scores.max())
    ranges = np.maximum(best - thresholds, 1e-12), np.maximum(thresholds - scores.min(), 1e-12)
    return [values[table.images] for values in (thresholds, *ranges)]


def _share(
    votes: sparse.coo_matrix, voters: np.ndarray, held: np.ndarray, moved: np.ndarray, change: np.ndarray
) -> sparse.csr_matrix:
    """Part of each correction in the change of each score; a labelled segment changes by its own label alone."""
    rate = np.divide(change, moved, out=np.zeros_like(change), where=(moved != 0) & ~held)
    labelled = np.flatnonzero(held)
    amounts = np.concatenate([rate[votes.row] * votes.data, change[labelled]])
    places = np.concatenate([votes.row, labelled]), np.concatenate([voters[votes.col], labelled])
    return sparse.csr_matrix((amounts, places), shape=(len(change), len(change)))
