"""Negative mining and f_neg against their formulas."""

import numpy as np
import pytest

from segvote.voters.negative.negatives import NegativeVotes, NegMin


def test_the_global_reading_is_the_distance_to_the_nearest_negative(planted):
    fitted = NegMin().fit(planted.X, planted.y, bags=planted.bags)
    P, N = planted.X[planted.y == 1], planted.X[planted.y == 0]
    expected = np.sqrt(((P[:, None] - N[None]) ** 2).sum(axis=2)).min(axis=1)
    np.testing.assert_allclose((fitted.scores_ + fitted.threshold_)[planted.y == 1], expected, rtol=1e-4)


def test_the_reading_by_bags_sums_similarities_to_the_nearest_of_each(planted):
    fitted = NegMin(reading="bag", bandwidth=2.0).fit(planted.X, planted.y, bags=planted.bags)
    P, expected = planted.X[planted.y == 1], 0.0
    for bag in np.unique(planted.bags[planted.y == 0]):
        squared = ((P[:, None] - planted.X[planted.bags == bag][None]) ** 2).sum(axis=2)
        expected = expected - np.exp(-squared / (2 * 2.0**2)).max(axis=1)
    np.testing.assert_allclose((fitted.scores_ + fitted.threshold_)[planted.y == 1], expected, rtol=1e-4)


@pytest.mark.parametrize("reading", NegMin.READINGS)
def test_the_explanation_sums_to_the_score(planted, reading):
    fitted = NegMin(reading=reading).fit(planted.X, planted.y, bags=planted.bags)
    told = fitted.explain(3)
    assert sum(told.amounts) + told.constant == pytest.approx(fitted.scores_[3], rel=1e-4)


def test_f_neg_is_minus_the_sum_over_all_negatives(planted):
    fitted = NegativeVotes(bandwidth=2.0).fit(planted.X, planted.y, bags=planted.bags)
    P, N = planted.X[planted.y == 1], planted.X[planted.y == 0]
    expected = -np.exp(-((P[:, None] - N[None]) ** 2).sum(axis=2) / 8).sum(axis=1)
    np.testing.assert_allclose((fitted.scores_ + fitted.threshold_)[planted.y == 1], expected, rtol=1e-4)
