"""Candidates measured one by one, against the formula."""

import numpy as np

from segvote.kernels.points import keep_nearest


def test_the_nearest_candidates_are_those_of_the_formula():
    rng = np.random.default_rng(0)
    queries, voters = (rng.normal(size=(n, 37)).astype(np.float32) for n in (50, 200))
    candidates = np.array([rng.permutation(200)[:30] for _ in range(50)])
    candidates[rng.random(candidates.shape) < 0.2] = -1
    squared, indices = keep_nearest(queries, voters, candidates, 10)
    for query, row, distances, nearest in zip(queries, candidates, squared, indices, strict=True):
        true = {int(j): float(((query.astype(float) - voters[j]) ** 2).sum()) for j in row if j >= 0}
        expected = sorted(true, key=true.get)[:10]
        assert nearest.tolist() == expected
        np.testing.assert_allclose(distances, [true[j] for j in expected], rtol=1e-5)


def test_ties_go_by_index_and_gaps_stay_empty():
    points = np.zeros((4, 3), dtype=np.float32)
    squared, indices = keep_nearest(points[:1], points, np.array([[3, -1, 1]]), 3)
    assert indices.tolist() == [[1, 3, -1]]
    assert squared.tolist() == [[0, 0, np.inf]]
