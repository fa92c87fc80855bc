"""What a user's labels of single segments and painted strokes change; they stay local.

A *user label* holds for its segment, and also shows that the estimate was off there, by a *residual* in units of the
decision, in which 1 is surely object, 0 the threshold and -1 surely background. Similar segments are moved by as much,
scaled by similarity. Corrections beside each other do not add up: their strengths are solved for (the mean of a
Gaussian process, with noise), so that together they come to the user labels. Labelled segments also take part in the
last round of the vote (`refit_with_labels`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import cg

from segvote.method.consistency import measure_uncertainty
from segvote.method.inputs import check_user_labels
from segvote.method.table import SegmentTable
from segvote.method.threshold import apply_thresholds
from segvote.method.vote import Vote, fit_vote
from segvote.selection import Selection

# Noise of a label where it is propagated to segments of equal features; on its own segment it is exact.
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


# From a selection to a corrected one ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Estimate:
    """The selection that corrections change, of a vote or by the scores of another voter."""

    table: SegmentTable
    selection: Selection
    walks: np.ndarray  # (n_walks, n_segments) bool: selections by which it is uncertain; no row for another voter


@dataclass(frozen=True)
class Correction:
    """A selection with corrections, and what they changed."""

    selection: Selection
    residuals: sparse.csr_matrix  # (n_segments, n_segments) change of row's score by column's correction
    kept: np.ndarray  # (n_images,) bool: images that no correction turned, which have the scores of the base


def make_estimate(vote: Vote) -> Estimate:
    """The selection of a vote, to be corrected."""
    return Estimate(vote.table, vote.selection, vote.diagnostics.hypotheses.selections)


def refit_with_labels(base: Vote, user_labels: np.ndarray | None) -> Vote:
    """Hold the last round of the vote `base`, which has no such labels, again with user labels (n_segments,).

    They are -1 unknown, 0 background, 1 object. Labelled segments vote with their label, and the linear classifier
    learns from them. The walks are not repeated: a few labels can tip them to another object in all images.
    """
    labels = check_user_labels(user_labels, len(base.table))
    if not (labels >= 0).any():
        return base
    diagnostics = base.diagnostics
    start = np.where(labels >= 0, labels == 1, diagnostics.start)
    # Scores with and without corrections are compared: both have the same zero.
    return fit_vote(
        replace(base.electorate, user_labels=labels),
        start,
        diagnostics.hypotheses,
        diagnostics.suspicion,
        seeds=diagnostics.seeds,
        threshold=base.scorer.threshold,
    )


# Corrections of single segments ---------------------------------------------------------------------------------------


def correct_vote(
    base: Vote, user_labels: np.ndarray | None, painted: np.ndarray | None = None
) -> tuple[Vote, Correction]:
    """The vote of `refit_with_labels`, and the corrections of `correct` on it."""
    refitted, similarity = refit_with_labels(base, user_labels), Similarity(base.table.X, base.table.images)
    return refitted, correct(make_estimate(base), make_estimate(refitted), similarity, user_labels, painted)


def correct(
    base: Estimate,
    refitted: Estimate,
    similarity: Similarity,
    user_labels: np.ndarray | None,
    painted: np.ndarray | None = None,
) -> Correction:
    """The selection with corrections: user labels hold, and move similar segments.

    An image in which corrections turn no segment keeps its scores: masks are drawn along edges, where a drift of a
    thousandth can turn a superpixel.

    Parameters
    ----------
    base : Estimate
        Without these user labels; labels of finished images that it has hold.
    refitted : Estimate
        Of `refit_with_labels` or `teach`, perhaps with fewer labels, which is quicker; the base for another voter.
    similarity : Similarity
        Of the segments.
    user_labels : (n_segments,), optional
        -1 unknown, 0 background, 1 object.
    painted : (n_segments,), optional
        Part of each segment that was painted object, in [0, 1], or background, in [-1, 0]. Painted segments move no
        other segment of their own image, and themselves only where they have a user label.

    Returns
    -------
    Correction
        Thresholds stay where the vote left them.
    """
    labels = check_user_labels(user_labels, len(base.table))
    painted = np.zeros(len(labels)) if painted is None else painted
    if not (labels >= 0).any() and not painted.any():
        return _make_uncorrected(base)
    after = _move_other_images(propagate(refitted, similarity, labels, painted), refitted, similarity, labels, painted)
    return _keep_unturned(after, base, propagate(base, similarity, labels, painted))


def propagate(
    estimate: Estimate, similarity: Similarity, user_labels: np.ndarray, painted: np.ndarray | None = None
) -> Correction:
    """The selection after user labels and painted parts have moved the scores of similar segments, in any image.

    Segments of finished images, which have labels in the estimate, are not moved.
    """
    table, before = estimate.table, estimate.selection
    painted = np.zeros(len(table)) if painted is None else painted
    scores, residuals = move_scores(similarity, table, before.scores, before.thresholds, user_labels, painted)
    labels = np.where(user_labels >= 0, user_labels, before.user_labels)
    selected = apply_thresholds(table, scores, before.thresholds, before.empty, labels)
    uncertainty = measure_uncertainty(table, scores, selected, estimate.walks)
    after = replace(before, scores=scores, selected=selected, uncertainty=uncertainty, user_labels=labels)
    return Correction(after, residuals, np.zeros(table.n_images, dtype=bool))


def _make_uncorrected(base: Estimate) -> Correction:
    """The base without any correction."""
    n_segments = len(base.table)
    return Correction(
        base.selection, sparse.csr_matrix((n_segments, n_segments)), np.ones(base.table.n_images, dtype=bool)
    )


def _move_other_images(
    after: Correction, refitted: Estimate, similarity: Similarity, user_labels: np.ndarray, painted: np.ndarray
) -> Correction:
    """The correction in which painted segments move other images only: their own has those by clicks alone."""
    is_painted, images = painted != 0, refitted.table.images
    if not is_painted.any():
        return after
    by_clicks = propagate(refitted, similarity, np.where(is_painted, np.int8(-1), user_labels))
    return _replace_segments(after, by_clicks, np.isin(images, images[is_painted]) & (user_labels < 0))


def _keep_unturned(after: Correction, base: Estimate, propagated: Correction) -> Correction:
    """The correction without drift: an image that no correction turned has the scores of the base.

    It turned none where it selects what the base with its user labels selects. `propagated` is the base with the
    corrections propagated.
    """
    table, free = base.table, after.selection.user_labels < 0
    labels_only = _replace_segments(propagated, _make_uncorrected(base), free)
    has_labels = table.sum_by_image(~free) > 0
    kept = table.sum_by_image(after.selection.selected != labels_only.selection.selected) == 0
    joined = _replace_segments(after, labels_only, kept[table.images])
    kept_uncertainty = np.where(has_labels, propagated.selection.uncertainty, base.selection.uncertainty)
    selection = replace(
        joined.selection,
        thresholds=np.where(kept, base.selection.thresholds, after.selection.thresholds),
        uncertainty=np.where(kept, kept_uncertainty, after.selection.uncertainty),
    )
    return Correction(selection, joined.residuals, kept)


def _replace_segments(correction: Correction, other: Correction, chosen: np.ndarray) -> Correction:
    """The correction in which the chosen segments (n_segments,) bool have scores and selection of another."""
    before, given = correction.selection, other.selection
    keep, take = (sparse.diags_array(rows.astype(np.float64)) for rows in (~chosen, chosen))
    residuals = sparse.csr_matrix(keep @ correction.residuals + take @ other.residuals)
    residuals.eliminate_zeros()
    selection = replace(
        before,
        scores=np.where(chosen, given.scores, before.scores),
        unsmoothed=np.where(chosen, given.unsmoothed, before.unsmoothed),
        selected=np.where(chosen, given.selected, before.selected),
    )
    return replace(correction, selection=selection, residuals=residuals)


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

    A segment labelled object gets the best score of its image, one labelled background the lowest of the run. A part p
    that was painted is a correction with noise `NOISE` / \\|p\\|. Segments of *without* images are moved by their own
    label only. Returns the scores, of which untouched ones are equal to the last bit, and the residuals (n_segments,
    n_segments): the change of each row's score by the correction of each column's segment.
    """
    labelled = user_labels >= 0
    voters = np.flatnonzero(labelled | (painted != 0))
    if not len(voters):
        return scores, sparse.csr_matrix((len(table), len(table)))
    targets = np.where(labelled, 2.0 * user_labels - 1, np.sign(painted))[voters]
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
    certainty[labelled], moved[labelled] = 2.0 * user_labels[labelled] - 1, 1.0
    after = np.where(moved != 0, cuts + certainty * np.where(certainty > 0, above, below), scores)
    return after, _share(votes.tocoo(), voters, labelled, moved, after - scores)


def _measure_ranges(table: SegmentTable, scores: np.ndarray, thresholds: np.ndarray) -> list[np.ndarray]:
    """(n_segments,) threshold of the segment's image, and the range of scores above and below it.

    As heat is scaled: a *with* image by its own best score, a *without* image by that of the run.
    """
    best = np.where(table.positive, table.max_by_image(scores), scores.max())
    ranges = np.maximum(best - thresholds, 1e-12), np.maximum(thresholds - scores.min(), 1e-12)
    return [values[table.images] for values in (thresholds, *ranges)]


def _share(
    votes: sparse.coo_matrix, voters: np.ndarray, labelled: np.ndarray, moved: np.ndarray, change: np.ndarray
) -> sparse.csr_matrix:
    """Part of each correction in the change of each score; a labelled segment changes by its own label alone."""
    rate = np.divide(change, moved, out=np.zeros_like(change), where=(moved != 0) & ~labelled)
    own = np.flatnonzero(labelled)
    amounts = np.concatenate([rate[votes.row] * votes.data, change[own]])
    places = np.concatenate([votes.row, own]), np.concatenate([voters[votes.col], own])
    return sparse.csr_matrix((amounts, places), shape=(len(change), len(change)))
