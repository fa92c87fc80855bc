"""Linear classifiers of bags: the map read per segment adds up to the bag, and OBoW's selection is its classifier's."""

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

from segvote.voters.bags import sort_bags
from segvote.voters.linear import CAM, OBoW


def test_the_mean_vote_of_a_bag_is_the_logit_of_the_image(planted):
    means = np.array([planted.X[planted.bags == bag].mean(axis=0) for bag in range(20)])
    scaled = StandardScaler().fit_transform(means)
    classifier = LogisticRegression(class_weight="balanced", tol=1e-8, max_iter=10_000)
    logits = classifier.fit(scaled, np.arange(20) < 10).decision_function(scaled)
    fitted = CAM().fit(planted.X, planted.y, bags=planted.bags)
    np.testing.assert_allclose(fitted.decision_bags(planted.X, planted.bags), logits, atol=1e-2)
    votes = fitted.scores_ + fitted.threshold_
    per_bag = np.bincount(planted.bags, weights=votes) / 12
    np.testing.assert_allclose(per_bag, fitted.decision_bags(planted.X, planted.bags))


def test_the_last_selection_is_its_classifiers(planted):
    fitted = OBoW().fit(planted.X, planted.y, bags=planted.bags)
    bags = sort_bags(planted.X, planted.bags, planted.y == 1)
    votes = bags.X @ fitted.coef_ + fitted.intercept_
    expected = ~bags.positive | (votes > 0)
    expected[bags.find_best(votes)] = True
    np.testing.assert_array_equal(fitted.selected_, expected)
    assert fitted.n_iter_ < 50
