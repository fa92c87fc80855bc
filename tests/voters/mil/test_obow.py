"""OBoW, our reading: the selection it ends with is the one its classifier makes."""

import numpy as np

from segvote.voters.mil.learning_bags import sort_bags
from segvote.voters.mil.obow import OBoW


def test_the_selection_at_the_end_is_the_one_its_classifier_makes(planted):
    fitted = OBoW().fit(planted.X, planted.y, bags=planted.bags)
    bags = sort_bags(planted.X, planted.bags, planted.y == 1)
    votes = bags.X @ fitted.coef_ + fitted.intercept_
    expected = ~bags.positive | (votes > 0)
    expected[bags.find_best(votes)] = True
    np.testing.assert_array_equal(fitted.selected_, expected)
    assert fitted.n_iter_ < 50


def test_every_bag_keeps_a_segment_and_without_bags_keep_all(planted):
    fitted = OBoW().fit(planted.X, planted.y, bags=planted.bags)
    bags = sort_bags(planted.X, planted.bags, planted.y == 1)
    kept = bags.sum(fitted.selected_.astype(int))
    assert (kept[bags.labels] >= 1).all()
    assert (kept[~bags.labels] == 12).all()


def test_one_round_is_an_svm_on_the_means_of_whole_bags(planted):
    fitted = OBoW(max_iter=1).fit(planted.X, planted.y, bags=planted.bags)
    means = np.array([planted.X[planted.bags == bag].mean(axis=0) for bag in range(20)])
    votes = means @ fitted.coef_ + fitted.intercept_
    assert ((votes > 0) == (np.arange(20) < 10)).mean() > 0.9
