"""Images that the vote was held without: left out in folds, or never seen; and whether their evidence is any."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

from segvote.kernels import build_vote_graph, search_neighbours
from segvote.method.decide import select_separable
from segvote.method.graph import exclude_voters
from segvote.method.linear import fit_posterior
from segvote.method.table import SegmentTable, apply_labels, make_folds
from segvote.method.walk import ImageBalance, walk

if TYPE_CHECKING:
    from segvote.method.vote import Vote, VoteParams

# Part of the images without the object that may keep a selection.
MAX_P_VALUE = 0.05


def leave_out_folds(table: SegmentTable, n_folds: int, folds: np.ndarray | None = None) -> Iterator[np.ndarray]:
    """(n_segments,) bool for each fold of images: the segments that are left out; `folds` (n_images,) if given."""
    folds = make_folds(table, n_folds) if folds is None else folds
    for fold in np.unique(folds):
        yield (folds == fold)[table.images]


def score_held_out(found: Vote, folds: np.ndarray | None = None) -> np.ndarray:
    """(n_segments,) scores before smoothing, each from a vote that its image had no part in.

    The scores of a vote leave a segment's own image out of its neighbours, but the votes of the others were found with
    the image among them. Here each fold of images is left out of walk, neighbours and linear classifier.

    Parameters
    ----------
    found : Vote
        The vote.
    folds : (n_images,) int, optional
        Number of the fold that each image is left out with.
    """
    table, scores = found.table, np.empty(len(found.table))
    for out in leave_out_folds(table, found.params.n_folds, folds):
        graph = exclude_voters(found.graph, out | found.silent)
        labels = _label_without(found, graph, out)
        posterior = fit_posterior(table.X, labels, table.areas, ~out & ~found.silent)
        share = graph[out] @ labels.astype(np.float64)
        scores[out] = found.inside * share + (1 - found.inside) * posterior.measure(table.X[out])
    return scores - found.threshold


def _label_without(found: Vote, graph: sparse.csr_matrix, out: np.ndarray) -> np.ndarray:
    """(n_segments,) bool: the selection of a vote without some segments (n_segments,) bool."""
    assert found.agreement is not None
    if found.walk_graph is not None:
        # The walk over these votes is the opinion that was replaced.
        return found.labels & ~out
    table, params, hypothesis = found.table, found.params, found.params.hypotheses[found.agreement.best]
    candidates = table.is_candidate & ~found.silent & (found.user_labels != 0) | (found.user_labels == 1)
    prior = params.measure_prior(table, found.connectivity, hypothesis)
    voters = np.flatnonzero(candidates & ~out)
    labels = label_others(graph, table, prior, voters, hypothesis.balance, out, params)
    return apply_labels(labels, found.user_labels) & ~out


def label_others(
    graph: sparse.csr_matrix,
    table: SegmentTable,
    prior: np.ndarray,
    voters: np.ndarray,
    balance: float,
    out: np.ndarray,
    params: VoteParams,
) -> np.ndarray:
    """(n_segments,) bool: what a short walk among the voters selects in images without a segment left out.

    Even how many segments of an image the whole vote selected depends on the images that are left out.
    """
    others = replace(table, positive=table.positive & (table.sum_by_image(out) == 0))
    if not others.positive.any():
        return np.zeros(len(table), dtype=bool)
    balanced = ImageBalance(table.images[voters], table.shares[voters], balance)
    votes = walk(graph, prior, voters, balanced, params.n_held_out_steps)
    return select_separable(others, table.smooth(votes, params.smoothing), params.powers)


# Images never seen ---------------------------------------------------------------------------------------------------


def link_unseen(found: Vote, X: np.ndarray, images: np.ndarray | None = None) -> sparse.csr_matrix:
    """(n, n_segments) votes of training segments for segments (n, d).

    Parameters
    ----------
    found : Vote
        The vote.
    X : (n, d)
        Features.
    images : (n,) int, optional
        Numbers of training images whose segments do not vote for these; -1: none.
    """
    table = found.table
    own = None if images is None else np.where(images >= 0, table.groups[images], -1)
    voters = table.groups[table.images]
    squared, indices = search_neighbours(X, table.X, found.params.n_neighbors, own, voters)
    return exclude_voters(build_vote_graph(squared, indices, len(table)), found.silent)


def score_linked(found: Vote, X: np.ndarray, graph: sparse.csr_matrix) -> np.ndarray:
    """(n,) scores before smoothing of segments (n, d) by the votes of `link_unseen`."""
    share = graph @ found.labels.astype(np.float64)
    return found.inside * share + (1 - found.inside) * found.posterior.measure(X) - found.threshold


# Is there any evidence? -----------------------------------------------------------------------------------------------


def measure_p_value(scores: np.ndarray, negatives: np.ndarray) -> np.ndarray:
    """(n,) share of images without the object that score at least as high, the image itself counted among them.

    Where the image and the others are scored by the same vote, which none of them took part in, the p-value of an image
    without the object is at most `a` with a probability of at most `a` (a conformal p-value).

    Parameters
    ----------
    scores : (n,)
        Of images.
    negatives : (n_without,)
        Of images without the object, ascending.
    """
    n_higher = len(negatives) - np.searchsorted(negatives, scores, side="left")
    return (1 + n_higher) / (len(negatives) + 1)


def find_unsupported(scores: np.ndarray, positive: np.ndarray, trusted: np.ndarray) -> np.ndarray:
    """(n_images,) bool: *with* images whose evidence does not exceed what *without* images reach.

    Parameters
    ----------
    scores : (n_images,)
        Evidence of each image, found without it.
    positive, trusted : (n_images,) bool
        *With* images; images that are likely in the right folder, to which *with* images are compared.
    """
    negatives = np.sort(scores[~positive & trusted])
    # So few *without* images that no p-value is small enough: it then has to exceed all of them.
    highest = max(MAX_P_VALUE, 1 / (len(negatives) + 1))
    return positive & (measure_p_value(scores, negatives) > highest)
