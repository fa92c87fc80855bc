"""Corrections of a user: the only way in for user labels and painted strokes.

A user label holds for its segment. It also tells that the estimate was off at one segment: its *residual*, in units of
the decision, in which 1 is surely object, 0 the threshold and -1 surely background. Similar segments are moved by as
much, scaled by similarity. Corrections beside each other do not add up: their strengths are solved for (the mean of a
Gaussian process, with noise), so that together they come to the user labels. Labelled segments also take part in a new
vote (`refit_with_labels`), which is slower and of higher mean IoU on nearly all sets measured.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
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
N_SAMPLED = 64
# A mistake is mostly one of its image: part of a correction that others get.
ELSEWHERE = 0.3
# Similarities below count as 0.
LEAST = 0.01


class Similarity:
    """Columns of a sharp kernel on features, weaker across images; each column is computed once, equal to the last bit.

    Parameters
    ----------
    X : (n_segments, d)
        Features.
    images : (n_segments,) int
        Number of the image of each segment.
    """

    def __init__(self, X: np.ndarray, images: np.ndarray) -> None:
        self._X, self._images = X, images
        self._known: dict[int, tuple[np.ndarray, np.ndarray]] = {}

    @cached_property
    def _norms(self) -> np.ndarray:
        return np.einsum("ij,ij->i", self._X, self._X)

    @cached_property
    def width(self) -> float:
        """In squared distance, from a sample of segments; 0 where even the tenth neighbours are equal."""
        sample = np.unique(np.linspace(0, len(self._X) - 1, N_SAMPLED).astype(np.int64))
        found = [self._find_typical(int(segment)) for segment in sample]
        known = [distance for distance in found if np.isfinite(distance)]
        return WIDTH * float(np.median(known)) if known else 0.0

    def _find_typical(self, segment: int) -> float:
        others = self._measure(segment)[self._images != self._images[segment]]
        place = min(N_TYPICAL, len(others)) - 1
        return float(np.partition(others, place)[place]) if len(others) else np.inf

    def _measure(self, segment: int) -> np.ndarray:
        """(n_segments,) squared distances; no matrix product, whose rounding depends on threads."""
        products = np.einsum("ij,j->i", self._X, self._X[segment])
        return np.maximum(self._norms + self._norms[segment] - 2 * products, 0)

    def _get_column(self, segment: int) -> tuple[np.ndarray, np.ndarray]:
        """Segments similar to one, and how much, itself 1."""
        if segment not in self._known:
            distances = self._measure(segment).astype(np.float64)
            similar = np.exp(-distances / self.width) if self.width > 0 else (distances <= 0).astype(np.float64)
            similar[self._images != self._images[segment]] *= ELSEWHERE
            similar[segment] = 1.0
            near = np.flatnonzero(similar >= LEAST)
            self._known[segment] = near, similar[near]
        return self._known[segment]

    def measure(self, segments: np.ndarray) -> sparse.csc_matrix:
        """(n_segments, len(segments)): similarity of every segment to each of these, in [0, 1]."""
        columns = [self._get_column(int(segment)) for segment in segments]
        ends = np.cumsum([0, *(len(near) for near, _ in columns)])
        near = np.concatenate([near for near, _ in columns]) if columns else np.empty(0, dtype=np.int64)
        similar = np.concatenate([similar for _, similar in columns]) if columns else np.empty(0)
        return sparse.csc_matrix((similar, near, ends), shape=(len(self._X), len(columns)))


@dataclass(frozen=True)
class ResidualVotes:
    """What corrections added to the scores.

    Attributes
    ----------
    voters : (n_corrections,) int
        The corrected segments.
    amounts : (n_segments, n_corrections) sparse
        What each of them added to each score; rows sum to the change.
    """

    voters: np.ndarray
    amounts: sparse.csr_matrix


# From a vote to a corrected one --------------------------------------------------------------------------------------


def refit_with_labels(base: Vote, user_labels: np.ndarray | None, low: bool = False) -> Vote:
    """The vote in which user labels take part; the vote itself where there are none.

    Labelled segments vote with their label, walks that contradict them lose weight, and the linear classifier learns
    from them.

    Parameters
    ----------
    base : Vote
        Without user labels.
    user_labels : (n_segments,), optional
        -1 unknown, 0 background, 1 object.
    low : bool
        Whether the confidence of the base is low: the walk then starts from the object labels.
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
        # Scores with corrections stand beside those without: both have the same zero, unless all is begun anew.
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
    """The vote with corrections: user labels hold, and move similar segments.

    Thresholds stay where the vote left them. An image in which corrections turn no segment keeps its scores: masks are
    drawn along edges, where a drift of a thousandth can turn a superpixel. On a base of low confidence, whose vote is
    begun anew, none is kept.

    Parameters
    ----------
    base : Vote
        Without user labels.
    user_labels : (n_segments,), optional
        -1 unknown, 0 background, 1 object.
    painted : (n_segments,), optional
        Part of each segment that was painted object, in [0, 1], or background, in [-1, 0]. Painted segments move no
        other segment of their own image, and themselves only where they have a user label.
    refitted : Vote, optional
        Of `refit_with_labels`, perhaps with fewer labels, which is quicker; default: refitted with these labels.
    similarity : Similarity, optional
        Of the segments, if it is known.
    low : bool
        Whether the confidence of the base is low.
    """
    labels = check_user_labels(user_labels, len(base.table))
    if not (labels >= 0).any() and (painted is None or not painted.any()):
        return base
    similarity = similarity or Similarity(base.table.X, base.table.images)
    refitted = refit_with_labels(base, labels, low) if refitted is None else refitted
    found = _propagate_painted(refitted, similarity, labels, painted)
    if low:
        return found
    own = propagate(base, similarity, labels, painted)
    return _keep_unturned(found, _hold(base, own))


def propagate(found: Vote, similarity: Similarity, user_labels: np.ndarray, painted: np.ndarray | None = None) -> Vote:
    """A vote whose scores user labels and painted parts have moved."""
    table = found.table
    painted = np.zeros(len(table)) if painted is None else painted
    scores, residuals = move_scores(similarity, table, found.scores, found.thresholds, user_labels, painted)
    return replace(apply_thresholds(replace(found, user_labels=user_labels), scores), residuals=residuals)


def _propagate_painted(
    found: Vote, similarity: Similarity, user_labels: np.ndarray, painted: np.ndarray | None
) -> Vote:
    """Corrections propagated, but from painted segments to other images only."""
    whole = propagate(found, similarity, user_labels, painted)
    if painted is None or not painted.any():
        return whole
    images, is_painted = found.table.images, painted != 0
    untouched = np.isin(images, images[is_painted]) & (user_labels < 0)
    clicked = propagate(found, similarity, np.where(is_painted, np.int8(-1), user_labels))
    return _replace_segments(whole, clicked, untouched)


def _hold(base: Vote, own: Vote) -> Vote:
    """The vote without corrections, in which user labels hold for their own segments and move no other."""
    labelled = base.table.sum_by_image(own.user_labels >= 0) > 0
    uncertainty = np.where(labelled, own.uncertainty, base.uncertainty)
    return replace(_replace_segments(own, base, own.user_labels < 0), uncertainty=uncertainty)


def _keep_unturned(found: Vote, held: Vote) -> Vote:
    """A vote in which images whose selection is the same in another have everything from that one."""
    kept = found.table.sum_by_image(found.selected != held.selected) == 0
    return replace(
        _replace_segments(found, held, kept[found.table.images]),
        thresholds=np.where(kept, held.thresholds, found.thresholds),
        uncertainty=np.where(kept, held.uncertainty, found.uncertainty),
        kept=kept,
    )


def _replace_segments(found: Vote, other: Vote, chosen: np.ndarray) -> Vote:
    """A vote in which the chosen segments (n_segments,) bool have scores and selection of another."""
    return replace(
        found,
        scores=np.where(chosen, other.scores, found.scores),
        votes=np.where(chosen, other.votes, found.votes),
        selected=np.where(chosen, other.selected, found.selected),
        residuals=_replace_rows(found.residuals, other.residuals, chosen),
    )


def _replace_rows(whole: ResidualVotes | None, other: ResidualVotes | None, rows: np.ndarray) -> ResidualVotes | None:
    """The amounts of one set of corrections in which some segments have those of a smaller set, or of none."""
    if whole is None:
        return None
    amounts = sparse.diags_array((~rows).astype(np.float64)) @ whole.amounts
    if other is not None:
        n_voters = len(other.voters)
        places = (np.arange(n_voters), np.searchsorted(whole.voters, other.voters))
        moved = sparse.csr_matrix((np.ones(n_voters), places), shape=(n_voters, len(whole.voters)))
        amounts = amounts + sparse.diags_array(rows.astype(np.float64)) @ other.amounts @ moved
    amounts = sparse.csr_matrix(amounts)
    amounts.eliminate_zeros()
    return replace(whole, amounts=amounts)


# Residuals -----------------------------------------------------------------------------------------------------------


def move_scores(
    similarity: Similarity,
    table: SegmentTable,
    scores: np.ndarray,
    thresholds: np.ndarray,
    user_labels: np.ndarray,
    painted: np.ndarray,
) -> tuple[np.ndarray, ResidualVotes]:
    """Change scores by user labels.

    Parameters
    ----------
    similarity : Similarity
        Of the segments.
    table : SegmentTable
        The segments; those of *without* images are moved by their own label only.
    scores, thresholds : (n_segments,), (n_images,)
        Before corrections.
    user_labels : (n_segments,) int8
        Labelled segments become as certain as the best of their image, or the worst of the run.
    painted : (n_segments,)
        Part p of a segment that was painted, see `correct`: a correction with noise `NOISE` over the size of p.

    Returns
    -------
    scores : (n_segments,)
        After corrections; untouched ones are equal to the last bit.
    residuals : ResidualVotes
        What each correction added.
    """
    held = user_labels >= 0
    voters = np.flatnonzero(held | (painted != 0))
    targets = np.where(held, 2.0 * user_labels - 1, np.sign(painted))[voters]
    noise = NOISE / np.where(painted != 0, np.abs(painted), 1.0)[voters]
    scale = _find_scale(table, scores, thresholds)
    certainty = scale.measure(scores)
    similar = similarity.measure(voters).tocsr()
    strengths = _solve(similar[voters], targets - certainty[voters], noise)
    votes = similar @ sparse.diags_array(strengths)
    moved = np.asarray(votes.sum(axis=1)).ravel() * table.is_candidate
    certainty = np.clip(certainty + moved, -1.0, 1.0)
    certainty[held], moved[held] = 2.0 * user_labels[held] - 1, 1.0
    after = np.where(moved != 0, scale.restore(certainty), scores)
    return after, ResidualVotes(voters, _share(votes, voters, held, moved, after - scores))


@dataclass(frozen=True)
class _Scale:
    """Scores of segments as certainty in [-1, 1] and back; (n_segments,) threshold and range above and below it."""

    thresholds: np.ndarray
    above: np.ndarray
    below: np.ndarray

    def measure(self, scores: np.ndarray) -> np.ndarray:
        gap = scores - self.thresholds
        return np.clip(np.where(gap > 0, gap / self.above, gap / self.below), -1.0, 1.0)

    def restore(self, certainty: np.ndarray) -> np.ndarray:
        return self.thresholds + certainty * np.where(certainty > 0, self.above, self.below)


def _find_scale(table: SegmentTable, scores: np.ndarray, thresholds: np.ndarray) -> _Scale:
    """As heat is scaled: a *with* image by its own best score, a *without* image by that of the run."""
    best = np.where(table.positive, table.find_best(scores), scores.max())
    above = np.maximum(best - thresholds, 1e-12)
    below = np.maximum(thresholds - scores.min(), 1e-12)
    return _Scale(thresholds[table.images], above[table.images], below[table.images])


def _solve(similar: sparse.csr_matrix, residuals: np.ndarray, noise: np.ndarray) -> np.ndarray:
    """(n_corrections,) strengths with which corrections, some similar, come to their residuals together."""
    system = (similar + sparse.diags_array(noise)).tocsr()
    return cg(system, residuals, rtol=TOLERANCE, maxiter=MAX_ITERATIONS)[0]


def _share(
    votes: sparse.csr_matrix, voters: np.ndarray, held: np.ndarray, moved: np.ndarray, change: np.ndarray
) -> sparse.csr_matrix:
    """Each correction's part in the change of each score; a labelled segment changes by its own label alone."""
    labelled = np.flatnonzero(held)
    places = (labelled, np.searchsorted(voters, labelled))
    own = sparse.csr_matrix((change[labelled], places), shape=votes.shape)
    rate = np.divide(change, moved, out=np.zeros_like(change), where=moved != 0)
    rate[labelled] = 0.0
    return (sparse.diags_array(rate) @ votes + own).tocsr()
