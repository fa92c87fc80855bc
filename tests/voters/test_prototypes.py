"""Prototypes: their votes against plain formulas, and the one-class machine against scikit-learn's."""

import numpy as np
from sklearn.preprocessing import StandardScaler
from sklearn.svm import OneClassSVM

from segvote.voters.prototypes import OneClass, PrototypeVoting, select_prototypes


def test_prototypes_cover_bags_that_others_leave_uncovered():
    labels = np.array([True, True, True, True, False, False])
    similarity = np.array([[1, 1, 0, 1], [1, 1, 0, 1], [1, 0, 0, 1], [0, 0, 1, 1], [0, 0, 0, 1], [0, 0, 0, 1.0]])
    # The first covers most; the second adds nothing; the third covers the rest; the last is in every bag.
    np.testing.assert_array_equal(select_prototypes(similarity, labels, 10), [0, 2])
    np.testing.assert_array_equal(select_prototypes(similarity, labels, 1), [0])


def test_votes_are_log_odds_times_kernels(planted):
    fitted = PrototypeVoting(bandwidth=2.0, n_prototypes=5).fit(planted.X, planted.y, bags=planted.bags)
    squared = ((planted.X[:, None] - fitted.prototypes_.points[None]) ** 2).sum(axis=2)
    kernels = np.exp(-squared / 8)
    shown = {1: [], 0: []}
    for bag in np.unique(planted.bags):
        own = planted.bags == bag
        holds = (squared[own] < 1e-12).any(axis=0)
        shown[planted.y[own][0]].append(np.where(holds, 0.0, kernels[own].max(axis=0)))
    rates = [(1 + np.sum(shown[kind], axis=0)) / (2 + n) for kind, n in ((1, 9), (0, 10))]
    np.testing.assert_allclose(fitted.prototypes_.amounts, np.log(rates[0]) - np.log(rates[1]), rtol=1e-6)
    np.testing.assert_allclose(fitted.scores_ + fitted.threshold_, kernels @ fitted.prototypes_.amounts, rtol=1e-6)


def test_votes_are_the_machine_of_scikit_learn_turned_round(planted):
    negatives = planted.X[planted.y == 0]
    scaler = StandardScaler().fit(negatives)
    model = OneClassSVM(nu=0.1, gamma=1 / 6, tol=1e-6).fit(scaler.transform(negatives))
    fitted = OneClass().fit(planted.X, planted.y, bags=planted.bags)
    expected = -model.decision_function(scaler.transform(planted.X))
    np.testing.assert_allclose(fitted.scores_ + fitted.threshold_, expected, atol=0.02 * np.ptp(expected))
