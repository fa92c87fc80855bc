"""k-means by faiss, the same for the same points on any number of cores."""

from __future__ import annotations

import numpy as np

from segvote.numerics.threads import use_one_thread

N_ROUNDS = 10
SEED = 1


def learn_centres(points: np.ndarray, n_clusters: int, n_rounds: int = N_ROUNDS) -> np.ndarray:
    """(n_clusters, d) float32 centres of points (n, d) by k-means; n is at least `n_clusters`."""
    import faiss

    means = faiss.Kmeans(
        points.shape[1],
        n_clusters,
        niter=n_rounds,
        seed=SEED,
        min_points_per_centroid=1,  # fewer than the default is only a warning on stderr
        max_points_per_centroid=len(points),
    )
    with use_one_thread():  # sums of several threads are rounded otherwise
        means.train(np.ascontiguousarray(points, np.float32))
    return np.asarray(means.centroids)


def find_clusters(points: np.ndarray, n_clusters: int) -> tuple[np.ndarray, np.ndarray]:
    """(n,) number of the nearest centre of each point (n, d), and the squared distance to it."""
    if not len(points):
        return np.empty(0, dtype=np.int64), np.empty(0)
    centres = learn_centres(points, min(n_clusters, len(points)), n_rounds=2 * N_ROUNDS)
    squared = (
        np.einsum("ij,ij->i", points, points)[:, None]
        - 2 * np.einsum("ij,kj->ik", points, centres)
        + np.einsum("ij,ij->i", centres, centres)
    )
    nearest = squared.argmin(axis=1)
    return nearest, np.maximum(squared[np.arange(len(points)), nearest], 0.0)
