"""CRANE: penalties are counted exactly, for training segments and for new ones."""

import numpy as np
from scipy.spatial.distance import cdist

from segvote.voters.crane import CRANE, _Reach


def count_penalties_slow(X, y):
    distances = cdist(X[y == 0], X[y == 1], "sqeuclidean")
    return np.bincount(distances.argmin(axis=1), minlength=(y == 1).sum())


def test_every_negative_penalises_the_one_candidate_nearest_to_it(planted):
    fitted = CRANE().fit(planted.X, planted.y, bags=planted.bags)
    votes = (fitted.scores_ + fitted.threshold_)[planted.candidates]
    np.testing.assert_array_equal(np.ceil(-votes), count_penalties_slow(planted.X, planted.y))
    assert fitted.tie_fraction_ == (count_penalties_slow(planted.X, planted.y) == 0).mean()


def test_a_training_segment_asked_again_gets_the_same_score(planted):
    fitted = CRANE().fit(planted.X, planted.y, bags=planted.bags)
    again = fitted.decision_function(planted.X, bags=planted.bags)
    np.testing.assert_allclose(again, fitted.scores_, atol=1e-6)


def test_reach_is_exact_on_the_rim_far_from_the_origin(rng):
    voters, rims = rng.normal(size=(50, 4)) + 1e4, rng.normal(size=(50, 4)) + 1e4
    points = np.concatenate([rims, rng.normal(size=(100, 4)) + 1e4])
    expected = cdist(points, voters, "sqeuclidean") <= ((voters - rims) ** 2).sum(axis=1) * (1 + 1e-9)
    np.testing.assert_array_equal(_Reach(voters, rims).list_reached(points), expected)
