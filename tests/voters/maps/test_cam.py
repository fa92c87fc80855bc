"""CAM: the map read per segment adds up to the image classifier."""

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

from segvote.voters.maps.cam import CAM


def test_the_mean_of_the_votes_of_a_bag_is_the_logit_of_the_image_classifier(planted):
    means = np.array([planted.X[planted.bags == bag].mean(axis=0) for bag in range(20)])
    scaled = StandardScaler().fit_transform(means)
    classifier = LogisticRegression(class_weight="balanced", tol=1e-8, max_iter=10_000)
    logits = classifier.fit(scaled, np.arange(20) < 10).decision_function(scaled)
    fitted = CAM().fit(planted.X, planted.y, bags=planted.bags)
    np.testing.assert_allclose(fitted.decision_bags(planted.X, planted.bags), logits, atol=1e-2)
    votes = fitted.scores_ + fitted.threshold_
    per_bag = np.bincount(planted.bags, weights=votes) / 12
    np.testing.assert_allclose(per_bag, fitted.decision_bags(planted.X, planted.bags))


def test_the_map_is_linear_in_the_features_as_they_come(planted):
    fitted = CAM().fit(planted.X, planted.y, bags=planted.bags)
    expected = planted.X @ fitted.coef_ + fitted.intercept_ - fitted.threshold_
    np.testing.assert_allclose(fitted.decision_function(planted.X), expected)
