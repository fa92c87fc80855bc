"""Representatives of many points: one of each cluster of k-means, the same for the same points."""

from __future__ import annotations

import numpy as np

from segvote.numerics.clusters import learn_centres


def choose_representatives(points: np.ndarray, n_chosen: int) -> np.ndarray:
    """(n_chosen,) ascending numbers of points (n, d): the nearest to the centre of each of as many clusters.

    Of points at the same distance, to four digits of the mean, the first is taken: two points alone in a cluster are
    always at the same. A cluster without points is replaced by the point that is
    farthest from the centre of its own. All points where there are no more than `n_chosen`.
    """
    if n_chosen >= len(points):
        return np.arange(len(points))
    points = np.ascontiguousarray(points, np.float32)
    nearest, squared = assign_points(points, learn_centres(points, n_chosen))
    squared = round_distances(squared)
    order = np.lexsort((np.arange(len(points)), squared, nearest))
    chosen = order[np.diff(nearest[order], prepend=-1) != 0]
    left = np.setdiff1d(np.argsort(-squared, kind="stable"), chosen, assume_unique=True)
    return np.sort(np.concatenate([chosen, left[: n_chosen - len(chosen)]]))


def assign_points(points: np.ndarray, centres: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(n,) number of the nearest centre (k, d) of each point (n, d), float32, and the squared distance to it."""
    import faiss

    index = faiss.IndexFlatL2(centres.shape[1])
    index.add(centres)
    squared, nearest = index.search(points, 1)
    return nearest[:, 0], squared[:, 0]


def round_distances(squared: np.ndarray) -> np.ndarray:
    """(n,) squared distances in parts of their mean, to four digits: rounding errors order no points."""
    return np.round(squared / max(float(squared.mean()), np.finfo(np.float32).tiny), 4)
