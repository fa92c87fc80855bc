"""Corrections applied to a vote: painted pixels teach the other images, and what they do not decide stays as it was.

A click says what a region is, and what is like it in the same image is mostly wrong in the same way. Whoever outlines
an error says where it ends, too: what lies beside the stroke was seen and left as it is. An image in which corrections
turn no segment keeps its scores: masks are redrawn along the picture's edges, where a drift of a thousandth can turn a
superpixel, and nobody asked for that. On a run of low confidence, whose vote is begun anew, nothing is kept.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

from segvote.method.confidence import LEVELS

if TYPE_CHECKING:
    from segvote.method import Result, SegmentAnnotator
    from segvote.method.residual import ResidualVotes


def apply_corrections(
    untaught: SegmentAnnotator,
    taught: SegmentAnnotator,
    images: np.ndarray,
    user_labels: np.ndarray | None,
    painted_shares: np.ndarray | None,
) -> Result:
    """The result of a vote with corrections.

    Parameters
    ----------
    untaught, taught
        After the vote without corrections, and after the one in which they take part.
    images
        (n_segments,) number of the image of each segment.
    user_labels, painted_shares
        (n_segments,) as for `SegmentAnnotator.correct`, or None. Segments with a share were painted: in their own image
        they move no other segment, and themselves only where they have a user label.
    """
    first = untaught.correct(None)
    if user_labels is None and painted_shares is None:
        return first
    found = _spare_painted(taught, images, user_labels, painted_shares)
    if untaught.confidence_.level == LEVELS[0]:
        return found
    own = untaught.correct(user_labels, painted_shares)
    return _keep_unturned(found, _hold(first, own, images), images)


def _spare_painted(
    annotator: SegmentAnnotator, images: np.ndarray, user_labels: np.ndarray | None, painted_shares: np.ndarray | None
) -> Result:
    """Corrections passed on, but from painted segments to other images only."""
    whole = annotator.correct(user_labels, painted_shares)
    if painted_shares is None or not painted_shares.any():
        return whole
    painted = painted_shares != 0
    untouched = np.isin(images, images[painted]) & (whole.user_labels < 0)
    clicked = annotator.correct(np.where(painted, np.int8(-1), whole.user_labels))
    return _replace_segments(whole, clicked, untouched)


def _hold(first: Result, own: Result, images: np.ndarray) -> Result:
    """The vote without corrections, in which user labels hold for their own segments and move no other."""
    labelled = np.bincount(images, weights=own.user_labels >= 0) > 0
    uncertainty = np.where(labelled, own.uncertainty, first.uncertainty)
    return replace(_replace_segments(own, first, own.user_labels < 0), uncertainty=uncertainty)


def _keep_unturned(found: Result, held: Result, images: np.ndarray) -> Result:
    """A result in which images whose selection is the same in another have all of theirs from that one."""
    kept = np.bincount(images, weights=found.selected != held.selected) == 0
    return replace(
        _replace_segments(found, held, kept[images]),
        thresholds=np.where(kept, held.thresholds, found.thresholds),
        uncertainty=np.where(kept, held.uncertainty, found.uncertainty),
        kept=kept,
    )


def _replace_segments(result: Result, other: Result, chosen: np.ndarray) -> Result:
    """A result in which the chosen segments (n_segments,) have all of theirs from another."""
    scores = np.where(chosen, other.scores, result.scores)
    return replace(
        result,
        scores=scores,
        votes=np.where(chosen, other.votes, result.votes),
        selected=np.where(chosen, other.selected, result.selected),
        weights=np.where(chosen, other.weights, result.weights),
        residuals=_replace_rows(result.residuals, other.residuals, chosen, scores),
    )


def _replace_rows(
    whole: ResidualVotes | None, other: ResidualVotes | None, rows: np.ndarray, scores: np.ndarray
) -> ResidualVotes | None:
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
    return replace(whole, scores=scores, amounts=amounts)
