"""How well a label map agrees with those that people drew: regions by their overlaps, boundaries by matching pixels.

Region measures take a table of overlaps, (n_segments, n_truth) pixel counts: a coarser cut of the same segments only
adds rows, so that a whole hierarchy is judged from one table. A truth is one person's label map; where several people
drew, the table is made for each and the measures are averaged by the caller.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import ndimage, sparse
from scipy.sparse.csgraph import min_weight_full_bipartite_matching
from scipy.spatial import cKDTree

from segvote.errors import BadInputError

__all__ = [
    "count_overlaps",
    "find_outline",
    "match_boundaries",
    "measure_achievable",
    "measure_boundary_recall",
    "measure_covering",
    "measure_rand_index",
    "measure_variation",
]

# More than all pairs of a picture could be shortened together: no pair is given up for shorter ones.
COST_ALONE = 1e6


def count_overlaps(labels: ArrayLike, truth: ArrayLike) -> NDArray[np.int64]:
    """Pixels that each segment shares with each region of the truth.

    Parameters
    ----------
    labels, truth
        (h, w) non-negative integers.

    Returns
    -------
    (n_segments, n_truth) counts; numbers that do not occur give empty rows and columns.
    """
    labels, truth = np.asarray(labels), np.asarray(truth)
    if labels.shape != truth.shape:
        raise BadInputError(f"expected two label maps of one shape, got {labels.shape} and {truth.shape}; resize one")
    n_segments, n_truth = int(labels.max()) + 1, int(truth.max()) + 1
    keys = labels.ravel().astype(np.int64) * n_truth + truth.ravel()
    return np.bincount(keys, minlength=n_segments * n_truth).reshape(n_segments, n_truth)


def measure_achievable(overlaps: NDArray) -> float:
    """Achievable segmentation accuracy: pixels that are right when each segment takes its best region of the truth."""
    return float(overlaps.max(axis=1).sum() / overlaps.sum())


def measure_covering(overlaps: NDArray) -> float:
    """Covering of the truth (Arbelaez 2011): each region's best intersection over union, weighted by its area."""
    areas, truth_areas = overlaps.sum(axis=1), overlaps.sum(axis=0)
    unions = areas[:, None] + truth_areas[None, :] - overlaps
    best = (overlaps / np.maximum(unions, 1)).max(axis=0)
    return float(best @ truth_areas / truth_areas.sum())


def measure_rand_index(overlaps: NDArray) -> float:
    """Rand index: the fraction of pairs of pixels that both maps join or both keep apart."""
    counts = overlaps.astype(np.float64)
    n_pairs = counts.sum() * (counts.sum() - 1) / 2
    either = (counts.sum(axis=1) ** 2).sum() / 2 + (counts.sum(axis=0) ** 2).sum() / 2
    return float(1 - (either - (counts**2).sum()) / max(n_pairs, 1))


def measure_variation(overlaps: NDArray) -> float:
    """Variation of information in bits (Meila 2005): 0 for equal maps, the lower the better."""
    joint = overlaps / overlaps.sum()
    return float(2 * _entropy(joint) - _entropy(joint.sum(axis=0)) - _entropy(joint.sum(axis=1)))


def _entropy(probabilities: NDArray) -> float:
    positive = probabilities[probabilities > 0]
    return float(-(positive * np.log2(positive)).sum())


def find_outline(labels: ArrayLike) -> NDArray[np.bool_]:
    """Pixels whose right or lower neighbour has another label: lines one pixel thin.

    Parameters
    ----------
    labels
        (h, w) integers.

    Returns
    -------
    (h, w) bool.
    """
    labels = np.asarray(labels)
    outline = np.zeros(labels.shape, bool)
    outline[:, :-1] |= labels[:, :-1] != labels[:, 1:]
    outline[:-1] |= labels[:-1] != labels[1:]
    return outline


def measure_boundary_recall(outline: NDArray[np.bool_], truth: NDArray[np.bool_], tolerance: float = 2.0) -> float:
    """Fraction of the true boundary pixels with a found one within tolerance pixels; 1 where nothing is to be found."""
    if not truth.any():
        return 1.0
    if not outline.any():
        return 0.0
    return float((ndimage.distance_transform_edt(~outline)[truth] <= tolerance).mean())


def match_boundaries(
    outline: NDArray[np.bool_], truth: NDArray[np.bool_], tolerance: float
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Match boundary pixels one to one, as many as possible (Martin 2004).

    Parameters
    ----------
    outline, truth
        (h, w) bool: the boundaries found and drawn, thin.
    tolerance
        The farthest a pair may lie apart, in pixels; the BSDS convention is .0075 of the image's diagonal.

    Returns
    -------
    found, drawn
        (h, w) bool: the pixels of each that have a partner. Precision and recall are their fractions.
    """
    found, drawn = np.zeros(outline.shape, bool), np.zeros(truth.shape, bool)
    places, others = np.argwhere(outline), np.argwhere(truth)
    if len(places) and len(others):
        partners = _match_places(places, others, tolerance)
        found[tuple(places[partners >= 0].T)] = True
        drawn[tuple(others[partners[partners >= 0]].T)] = True
    return found, drawn


def _match_places(places: NDArray, others: NDArray, tolerance: float) -> NDArray[np.int64]:
    """Partner of each place among the others, or -1: as many pairs as possible and, of those, the shortest in sum."""
    near = cKDTree(others).sparse_distance_matrix(cKDTree(places), tolerance, output_type="coo_matrix")
    # Every row has a column of its own that means "no partner": a full matching then always exists. (Matching without
    # lengths, by Hopcroft and Karp, took minutes for some maps.)
    alone = np.arange(len(others))
    rows, columns = np.concatenate([near.row, alone]), np.concatenate([near.col, len(places) + alone])
    costs = np.concatenate([1 + near.data, np.full(len(others), COST_ALONE)])
    links = sparse.csr_matrix((costs, (rows, columns)), shape=(len(others), len(places) + len(others)))
    matched, chosen = min_weight_full_bipartite_matching(links)
    partners = np.full(len(places) + len(others), -1, np.int64)
    partners[chosen] = matched
    return partners[: len(places)]
