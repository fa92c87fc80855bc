"""Corrections applied to a vote: painted pixels teach the other images, and leave the rest of their own alone.

A click says what a region is, and what is like it in the same image is mostly wrong in the same way. Whoever outlines
an error says where it ends, too: what lies beside the stroke was seen and left as it is.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

if TYPE_CHECKING:
    from segvote.method import Result, SegmentAnnotator
    from segvote.method.residual import ResidualVotes

__all__ = ["apply_corrections"]


def apply_corrections(
    annotator: SegmentAnnotator,
    images: np.ndarray,
    user_labels: np.ndarray | None,
    painted_shares: np.ndarray | None,
) -> Result:
    """The result of a vote with corrections.

    Parameters
    ----------
    annotator
        After the vote.
    images
        (n_segments,) number of the image of each segment.
    user_labels, painted_shares
        (n_segments,) as for `SegmentAnnotator.correct`, or None. Segments with a share were painted: in their own image
        they move no other segment, and themselves only where they have a user label.
    """
    whole = annotator.correct(user_labels, painted_shares)
    if painted_shares is None or not painted_shares.any():
        return whole
    painted = painted_shares != 0
    untouched = np.isin(images, images[painted]) & (whole.user_labels < 0)
    clicked = annotator.correct(np.where(painted, np.int8(-1), whole.user_labels))
    scores = np.where(untouched, clicked.scores, whole.scores)
    return replace(
        whole,
        scores=scores,
        selected=np.where(untouched, clicked.selected, whole.selected),
        weights=np.where(untouched, clicked.weights, whole.weights),
        residuals=_replace_rows(whole.residuals, clicked.residuals, untouched, scores),
    )


def _replace_rows(
    whole: ResidualVotes | None, clicked: ResidualVotes | None, rows: np.ndarray, scores: np.ndarray
) -> ResidualVotes | None:
    """The amounts of one set of corrections in which some segments have those of a smaller set."""
    if whole is None:
        return None
    amounts = sparse.diags_array((~rows).astype(np.float64)) @ whole.amounts
    if clicked is not None:
        n_clicked = len(clicked.voters)
        places = (np.arange(n_clicked), np.searchsorted(whole.voters, clicked.voters))
        moved = sparse.csr_matrix((np.ones(n_clicked), places), shape=(n_clicked, len(whole.voters)))
        amounts = amounts + sparse.diags_array(rows.astype(np.float64)) @ clicked.amounts @ moved
    amounts = sparse.csr_matrix(amounts)
    amounts.eliminate_zeros()
    return replace(whole, scores=scores, amounts=amounts)
