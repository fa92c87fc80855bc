"""Voters that use negatives only: each against its plain formula."""

import numpy as np
from scipy.spatial.distance import cdist

from segvote.voters.negatives import KNNNegatives, NegativeVotes, NegMin


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
