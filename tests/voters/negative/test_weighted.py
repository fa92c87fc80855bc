"""Negative-weighted voting against its formula."""

import numpy as np

from segvote.voters.negative.negatives import NegativeVotes
from segvote.voters.negative.weighted import WeightedNegatives


def test_negatives_vote_with_the_share_of_negatives_around_them(planted):
    fitted = WeightedNegatives(bandwidth=2.0).fit(planted.X, planted.y, bags=planted.bags)
    kernels = np.exp(-((planted.X[:, None] - planted.X[None]) ** 2).sum(axis=2) / 8)
    other = planted.bags[:, None] != planted.bags
    shown = planted.y == 1
    means = [(kernels * (other & side)).sum(axis=1) / (other & side).sum(axis=1) for side in (shown, ~shown)]
    weights = (means[1] / (means[0] + means[1]))[~shown]
    np.testing.assert_allclose(fitted.negative_weights_, weights, rtol=1e-4)
    expected = -((kernels * other)[:, ~shown] @ weights)
    np.testing.assert_allclose(fitted.scores_ + fitted.threshold_, expected, rtol=1e-4)


def test_with_power_zero_it_is_f_neg(planted):
    data = planted.X, planted.y, planted.bags
    reduced = WeightedNegatives(bandwidth=2.0, power=0.0).fit(*data)
    np.testing.assert_allclose(reduced.scores_, NegativeVotes(bandwidth=2.0).fit(*data).scores_, rtol=1e-5, atol=1e-7)


def test_a_misfiled_object_has_less_to_say_than_other_negatives(planted):
    X = planted.X.copy()
    misfiled = np.flatnonzero(planted.y == 0)[0]
    X[misfiled] = X[planted.truth].mean(axis=0)
    weights = WeightedNegatives().fit(X, planted.y, bags=planted.bags).negative_weights_
    assert weights[0] < weights[1:].min()
