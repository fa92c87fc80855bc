"""Voters that use negatives only: each against its plain formula."""

import numpy as np
from scipy.spatial.distance import cdist

from segvote.voters.negatives import KNNNegatives, NegativeVotes, NegMin, WeightedNegatives


def test_the_global_reading_is_the_nearest_negative(planted):
    fitted = NegMin().fit(planted.X, planted.y, bags=planted.bags)
    P, N = planted.X[planted.y == 1], planted.X[planted.y == 0]
    expected = np.sqrt(((P[:, None] - N[None]) ** 2).sum(axis=2)).min(axis=1)
    np.testing.assert_allclose((fitted.scores_ + fitted.threshold_)[planted.y == 1], expected, rtol=1e-4)


def test_the_reading_by_bags_sums_nearest_similarities(planted):
    fitted = NegMin(reading="bag", bandwidth=2.0).fit(planted.X, planted.y, bags=planted.bags)
    P, expected = planted.X[planted.y == 1], 0.0
    for bag in np.unique(planted.bags[planted.y == 0]):
        squared = ((P[:, None] - planted.X[planted.bags == bag][None]) ** 2).sum(axis=2)
        expected = expected - np.exp(-squared / (2 * 2.0**2)).max(axis=1)
    np.testing.assert_allclose((fitted.scores_ + fitted.threshold_)[planted.y == 1], expected, rtol=1e-4)


def test_f_neg_is_minus_the_sum_over_all_negatives(planted):
    fitted = NegativeVotes(bandwidth=2.0).fit(planted.X, planted.y, bags=planted.bags)
    P, N = planted.X[planted.y == 1], planted.X[planted.y == 0]
    expected = -np.exp(-((P[:, None] - N[None]) ** 2).sum(axis=2) / 8).sum(axis=1)
    np.testing.assert_allclose((fitted.scores_ + fitted.threshold_)[planted.y == 1], expected, rtol=1e-4)


def test_the_vote_is_the_mean_distance_to_near_negatives(planted):
    fitted = KNNNegatives(n_neighbors=3).fit(planted.X, planted.y, bags=planted.bags)
    distances = cdist(planted.X, planted.X)
    counted = (planted.y == 0)[None, :] & (planted.bags[:, None] != planted.bags)
    expected = np.sort(np.where(counted, distances, np.inf), axis=1)[:, :3].mean(axis=1)
    np.testing.assert_allclose(fitted.scores_ + fitted.threshold_, expected, rtol=1e-5)


def test_negatives_vote_with_the_share_of_negatives_near_them(planted):
    fitted = WeightedNegatives(bandwidth=2.0).fit(planted.X, planted.y, bags=planted.bags)
    kernels = np.exp(-((planted.X[:, None] - planted.X[None]) ** 2).sum(axis=2) / 8)
    other, shown = planted.bags[:, None] != planted.bags, planted.y == 1
    means = [(kernels * (other & side)).sum(axis=1) / (other & side).sum(axis=1) for side in (shown, ~shown)]
    weights = (means[1] / (means[0] + means[1]))[~shown]
    np.testing.assert_allclose(fitted.negative_weights_, weights, rtol=1e-4)
    expected = -((kernels * other)[:, ~shown] @ weights)
    np.testing.assert_allclose(fitted.scores_ + fitted.threshold_, expected, rtol=1e-4)


def test_weights_to_the_power_zero_are_f_neg(planted):
    weighted = WeightedNegatives(bandwidth=2.0, power=0.0).fit(planted.X, planted.y, bags=planted.bags)
    plain = NegativeVotes(bandwidth=2.0).fit(planted.X, planted.y, bags=planted.bags)
    np.testing.assert_array_equal(weighted.scores_, plain.scores_)
