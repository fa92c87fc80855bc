"""CRANE: penalties are counted exactly, for training segments and for new ones."""

import numpy as np
from scipy.spatial.distance import cdist

from segvote.voters.crane import CRANE, find_inside


def count_penalties_slow(X, y):
    distances = cdist(X[y == 0], X[y == 1], "sqeuclidean")
    return np.bincount(distances.argmin(axis=1), minlength=(y == 1).sum())


def test_every_negative_penalises_its_nearest_candidate(planted):
    fitted = CRANE(ties="distance").fit(planted.X, planted.y, bags=planted.bags)
    votes = (fitted.scores_ + fitted.threshold_)[planted.candidates]
    np.testing.assert_array_equal(np.ceil(-votes), count_penalties_slow(planted.X, planted.y))
    assert fitted.tie_fraction_ == (count_penalties_slow(planted.X, planted.y) == 0).mean()


def test_reach_is_exact_on_the_rim_far_from_the_origin(rng):
    voters, rims = rng.normal(size=(50, 4)) + 1e4, rng.normal(size=(50, 4)) + 1e4
    points = np.concatenate([rims, rng.normal(size=(100, 4)) + 1e4])
    squared = ((voters - rims) ** 2).sum(axis=1)
    expected = cdist(points, voters, "sqeuclidean") <= squared * (1 + 1e-9)
    np.testing.assert_array_equal(find_inside(points, voters, squared * (1 + 1e-9)), expected)


def test_all_of_several_nearest_are_penalised(rng):
    # Whole numbers in a small cube: copies and equal distances abound.
    X, bags = rng.integers(0, 4, size=(120, 3)).astype(float), np.repeat(np.arange(12), 10)
    y = (bags < 6).astype(int)
    squared = ((X[y == 1][:, None] - X[y == 0][None]) ** 2).sum(axis=2)
    expected = (squared == squared.min(axis=0)).sum(axis=1)
    assert expected.sum() > (y == 0).sum()  # there are ties
    fitted = CRANE(ties="none").fit(X, y, bags=bags)
    np.testing.assert_array_equal((fitted.scores_ + fitted.threshold_)[y == 1], -expected)
    again = fitted.decision_function(X, bags=bags) + fitted.threshold_
    np.testing.assert_array_equal(again[y == 1], -expected)


def test_negatives_beyond_the_cut_off_penalise_nobody(planted):
    X, y = planted.X, planted.y
    squared = ((X[y == 1][:, None] - X[y == 0][None]) ** 2).sum(axis=2)
    nearest = np.sort(squared.min(axis=0))
    cut = float(np.sqrt(nearest[[40, 41]].mean()))
    expected = np.bincount(squared.argmin(axis=0)[squared.min(axis=0) <= cut**2], minlength=(y == 1).sum())
    assert expected.sum() == 41
    fitted = CRANE(s_cut=cut, ties="none").fit(X, y, bags=planted.bags)
    np.testing.assert_array_equal((fitted.scores_ + fitted.threshold_)[y == 1], -expected)
