"""Scores of images by votes whose walk, neighbours and classifier leave them out, and what follows: p-values."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from segvote.method.consistency import measure_inside
from segvote.method.graph import exclude_voters
from segvote.method.hypotheses import Electorate, select_walked
from segvote.method.linear import fit_posterior
from segvote.method.table import SegmentTable
from segvote.method.walk import scale_votes, walk, walk_from_seeds
from segvote.numerics.threads import map_in_threads
from segvote.selection import apply_labels

# Part of the images without the object that may keep a selection.
MAX_P_VALUE = 0.05


def make_folds(table: SegmentTable, n_folds: int) -> np.ndarray:
    """(n_images,) number of each image's fold: both folders spread evenly, the images of a bag together."""
    # scikit-learn's StratifiedGroupKFold spreads the folders as evenly, but takes a third of a second for 2,000 bags,
    # in every vote, and its folds are others: published held-out figures are on these.
    labels = table.bag_labels
    folds = np.empty(len(labels), dtype=np.int64)
    for side in (labels, ~labels):
        folds[side] = np.arange(side.sum()) % n_folds
    return folds[table.image_bags]


@dataclass(frozen=True)
class Fold:
    """Images that are left out of a vote, and what the others vote and select."""

    out: np.ndarray  # (n_segments,) bool: segments of the fold
    graph: sparse.csr_matrix  # (n_segments, n_segments) votes of all other segments
    selected: np.ndarray  # (n_segments,) bool: segments that a walk without the fold selects


def measure_folds(
    measure: Callable[[Fold], np.ndarray],
    electorate: Electorate,
    best: int,
    folds: np.ndarray | None = None,
    seeds: np.ndarray | None = None,
) -> np.ndarray:
    """(n_segments,) what `measure` gives for the segments of each fold of images, several folds at a time.

    A short walk under the hypothesis `best`, or from the `seeds` that are left, selects the segments of a fold's
    others: even how many segments of an image the whole vote selected depends on the images that are left out. `folds`
    (n_images,) are the numbers of the folds, if given.
    """
    table, params = electorate.inputs.table, electorate.inputs.params
    folds = make_folds(table, params.n_folds) if folds is None else folds
    values = np.empty(len(table))

    def fill(number: int) -> None:
        fold = _leave_out(electorate, best, folds == number, seeds)
        values[fold.out] = measure(fold)

    map_in_threads(fill, np.unique(folds), electorate.inputs.graph.nnz)
    return values


def _leave_out(electorate: Electorate, best: int, images: np.ndarray, seeds: np.ndarray | None) -> Fold:
    """The fold of some images (n_images,) bool."""
    inputs, table, params = electorate.inputs, electorate.inputs.table, electorate.inputs.params
    hypothesis, out = params.hypotheses[best], images[table.images]
    graph, voters = exclude_voters(inputs.graph, out | electorate.excluded), electorate.voters & ~out
    others, selected = table.relabel_images(table.positive & ~images), np.zeros(len(table), dtype=bool)
    if others.positive.any() and seeds is not None and len(seeds):
        votes = walk_from_seeds(graph, others.is_candidate, seeds[~out[seeds]], params.n_held_out_steps)
        selected = select_walked(others, votes, params)
    elif others.positive.any():
        walked = exclude_voters(inputs.walk_graph, out | electorate.excluded) if inputs.is_second else graph
        prior = inputs.measure_prior(hypothesis)
        votes = walk(table, walked, prior, voters, hypothesis.balance, params.n_held_out_steps)
        selected = select_walked(others, scale_votes(votes, voters), params)
    return Fold(out, graph, selected)


def share_held_out(electorate: Electorate, best: int) -> np.ndarray:
    """(n_segments,) smoothed share of selected neighbours, by walks that the segment's image had no part in."""

    def measure(fold: Fold) -> np.ndarray:
        return fold.graph[fold.out] @ fold.selected.astype(np.float64)

    return electorate.inputs.table.smooth(measure_folds(measure, electorate, best), electorate.inputs.params.smoothing)


def score_held_out(
    electorate: Electorate, best: int, folds: np.ndarray | None = None, seeds: np.ndarray | None = None
) -> np.ndarray:
    """(n_segments,) evidence before smoothing, each from a walk, neighbours and a linear classifier without its image.

    The scores of a vote leave a segment's own image out of its neighbours, but the selection of the others was found
    with the image among them. Here each fold of images is left out of all three. The hypothesis, the exclusions and, in
    a second vote, the direction of the features are those of all images. `folds` (n_images,) are the numbers of the
    folds, if given, and `seeds` as for `measure_folds`.
    """
    table = electorate.inputs.table

    def measure(fold: Fold) -> np.ndarray:
        labels = apply_labels(fold.selected, electorate.user_labels) & ~fold.out
        shares = fold.graph @ labels.astype(np.float64)
        posterior = fit_posterior(table.X, labels, table.areas, ~fold.out & ~electorate.excluded, table.moments)
        inside = measure_inside(table, labels, shares)
        return inside * shares[fold.out] + (1 - inside) * posterior.measure(table.X[fold.out])

    return measure_folds(measure, electorate, best, folds, seeds)


# P-values -------------------------------------------------------------------------------------------------------------


def measure_p_value(scores: np.ndarray, negatives: np.ndarray) -> np.ndarray:
    """(n,) share of images without the object, scores `negatives` ascending, that score at least as high.

    The image itself is counted among them. Where all are scored by the same vote, which none of them took part in, the
    p-value of an image without the object is at most `a` with a probability of at most `a` (a conformal p-value).
    """
    n_higher = len(negatives) - np.searchsorted(negatives, scores, side="left")
    return (1 + n_higher) / (len(negatives) + 1)


def find_unsupported(scores: np.ndarray, positive: np.ndarray, trusted: np.ndarray) -> np.ndarray:
    """(n_images,) bool: *with* images whose held-out scores (n_images,) *without* images reach.

    They are compared with the *without* images that are trusted (n_images,) bool to be in the right folder.
    """
    negatives = np.sort(scores[~positive & trusted])
    # So few *without* images that no p-value is small enough: it then has to exceed all of them.
    highest = max(MAX_P_VALUE, 1 / (len(negatives) + 1))
    return positive & (measure_p_value(scores, negatives) > highest)
