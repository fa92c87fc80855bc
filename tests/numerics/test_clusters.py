"""k-means: the same on any number of cores."""

import faiss
import numpy as np
from threadpoolctl import threadpool_info, threadpool_limits

from segvote.numerics.clusters import find_clusters, learn_centres


def test_centres_are_learned_by_one_thread(monkeypatch):
    """Of 12,000 points of 472 numbers, two threads learn centres that differ by a hundredth."""
    seen = []

    class Observed(faiss.Kmeans):
        def train(self, points):
            seen.extend(pool["num_threads"] for pool in threadpool_info())
            return super().train(points)

    monkeypatch.setattr(faiss, "Kmeans", Observed)
    with threadpool_limits(2):
        learn_centres(np.random.default_rng(0).random((50, 4)).astype(np.float32), 3)
    assert set(seen) == {1}


def test_points_belong_to_the_nearest_centre():
    points = np.array([[0.0, 0], [0, 1], [9, 9], [9, 8]], dtype=np.float32)
    clusters, squared = find_clusters(points, 2)
    assert clusters[0] == clusters[1] != clusters[2] == clusters[3]
    np.testing.assert_allclose(squared, 0.25)
