"""Residual votes: what the user corrected is passed on to what is like it.

A correction says how far the vote was off at one segment: its *residual*, in units of the decision, in which 1 is
surely object, 0 the threshold and -1 surely background. Every segment that is like the corrected one was probably off
by as much in the same direction, the less the less it is like it. Corrections beside each other do not pile up: their
strengths are solved for (the mean of a Gaussian process, with noise), so that together they come to the user labels.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import cg

from segvote.method.likeness import Likeness

# Raised when the same corrections lead to other masks.
RESIDUAL_VERSION = 5
# A user label holds for its segment; how far it holds for equal ones is less sure.
NOISE = 0.3
TOLERANCE, MAX_ITERATIONS = 1e-9, 500


@dataclass(frozen=True)
class ResidualVotes:
    """What corrections did to the scores.

    Attributes
    ----------
    scores
        (n_segments,) after them; untouched ones are equal to the last bit.
    voters
        (n_corrections,) the corrected segments.
    amounts
        (n_segments, n_corrections) sparse: what each of them added to each score; rows sum to the change.
    """

    scores: np.ndarray
    voters: np.ndarray
    amounts: sparse.csr_matrix


@dataclass(frozen=True)
class _Scale:
    """Scores of segments as certainty in [-1, 1] and back; (n_segments,) threshold and what is above and below it."""

    thresholds: np.ndarray
    above: np.ndarray
    below: np.ndarray

    def measure(self, scores: np.ndarray) -> np.ndarray:
        gap = scores - self.thresholds
        return np.clip(np.where(gap > 0, gap / self.above, gap / self.below), -1.0, 1.0)

    def restore(self, certainty: np.ndarray) -> np.ndarray:
        return self.thresholds + certainty * np.where(certainty > 0, self.above, self.below)


def pass_on(
    likeness: Likeness,
    scores: np.ndarray,
    thresholds: np.ndarray,
    bags: np.ndarray,
    positive: np.ndarray,
    fixed: np.ndarray,
    shares: np.ndarray | None = None,
) -> ResidualVotes:
    """Change the scores by the user labels.

    Parameters
    ----------
    likeness
        Of the segments.
    scores, bags
        (n_segments,) after the vote; number of the bag, ascending.
    thresholds, positive
        (n_bags,) score above which segments are object; bool *with*.
    fixed
        (n_segments,) -1 unknown, 0 background, 1 object. Corrected segments become as certain as the best of their bag,
        or the worst of the run; other segments of *without* bags are never moved.
    shares
        (n_segments,) in [-1, 1]: part p of a segment that was painted object, or background (negative); 0: not painted.
        It is a correction with noise `NOISE` over the size of p, which holds for the segment itself only where `fixed`
        says so.
    """
    shares = np.zeros(len(fixed)) if shares is None else shares
    held = fixed >= 0
    voters = np.flatnonzero(held | (shares != 0))
    words = np.where(held, 2.0 * fixed - 1, np.sign(shares))[voters]
    noise = NOISE / np.where(shares != 0, np.abs(shares), 1.0)[voters]
    scale = _find_scale(scores, thresholds, bags, positive)
    certainty = scale.measure(scores)
    alike = likeness.join(voters).tocsr()
    strengths = _solve(alike[voters], words - certainty[voters], noise)
    votes = alike @ sparse.diags_array(strengths)
    moved = np.asarray(votes.sum(axis=1)).ravel() * positive[bags]
    certainty = np.clip(certainty + moved, -1.0, 1.0)
    certainty[held], moved[held] = 2.0 * fixed[held] - 1, 1.0
    after = np.where(moved != 0, scale.restore(certainty), scores)
    return ResidualVotes(after, voters, _share(votes, voters, held, moved, after - scores))


def _find_scale(scores: np.ndarray, thresholds: np.ndarray, bags: np.ndarray, positive: np.ndarray) -> _Scale:
    """As heat is scaled: a *with* bag by its own best score, a *without* bag by that of the run."""
    starts = np.flatnonzero(np.diff(bags, prepend=-1))
    best = np.where(positive, np.maximum.reduceat(scores, starts), scores.max())
    above = np.maximum(best - thresholds, 1e-12)
    below = np.maximum(thresholds - scores.min(), 1e-12)
    return _Scale(thresholds[bags], above[bags], below[bags])


def _solve(alike: sparse.csr_matrix, residuals: np.ndarray, noise: np.ndarray) -> np.ndarray:
    """(n_corrections,) strengths with which corrections, some alike, come to their residuals together."""
    system = (alike + sparse.diags_array(noise)).tocsr()
    return cg(system, residuals, rtol=TOLERANCE, maxiter=MAX_ITERATIONS)[0]


def _share(
    votes: sparse.csr_matrix, voters: np.ndarray, held: np.ndarray, moved: np.ndarray, change: np.ndarray
) -> sparse.csr_matrix:
    """Give everybody's part in the change, in scores; a segment with a user label changes by its own word alone."""
    labelled = np.flatnonzero(held)
    places = (labelled, np.searchsorted(voters, labelled))
    own = sparse.csr_matrix((change[labelled], places), shape=votes.shape)
    rate = np.divide(change, moved, out=np.zeros_like(change), where=moved != 0)
    rate[labelled] = 0.0
    return (sparse.diags_array(rate) @ votes + own).tocsr()
