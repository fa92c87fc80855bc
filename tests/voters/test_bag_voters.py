"""Bags as learners see them: sorted, reduced, with corrections as bags of their own."""

import numpy as np
import pytest

from segvote.errors import BadInputError
from segvote.voters.bags import group_bags, sort_bags
from segvote.voters.base import check_segments
from segvote.voters.linear import CAM


def test_sorting_does_not_depend_on_the_order_of_segments(rng):
    X, codes = rng.normal(size=(30, 4)), rng.integers(5, size=30)
    order = rng.permutation(30)
    here, there = sort_bags(X, codes, codes > 2), sort_bags(X[order], codes[order], codes[order] > 2)
    np.testing.assert_array_equal(here.X, there.X)
    np.testing.assert_array_equal(here.starts, there.starts)
    np.testing.assert_array_equal(X[here.rows], here.X)


def test_reductions_are_those_of_the_bags(small_bags, rng):
    values = rng.normal(size=len(small_bags.X))
    for bag in range(len(small_bags)):
        members = np.flatnonzero(small_bags.codes == bag)
        assert small_bags.sum(values)[bag] == pytest.approx(values[members].sum())
        assert small_bags.mean(values)[bag] == pytest.approx(values[members].mean())
        assert small_bags.max(values)[bag] == values[members].max()
        assert small_bags.find_best(values)[bag] == members[np.argmax(values[members])]


def test_corrections_become_bags_of_one():
    X = np.arange(8.0)[:, None]
    bags, labels = np.repeat([0, 1, 2, 3], 2), np.repeat([True, True, False, False], 2)
    user_labels = np.array([1, -1, 0, -1, -1, -1, -1, -1])
    learned = group_bags(check_segments(X, labels, bags, None, user_labels))
    # Bag 1 without its background, bags 2 and 3 whole, then the corrections; segment 1 of the explained bag is gone.
    assert [learned.X[learned.codes == bag].ravel().tolist() for bag in range(5)] == [[3], [4, 5], [6, 7], [0], [2]]
    assert learned.labels.tolist() == [True, False, False, True, False]


def test_corrections_that_leave_one_label_are_refused(planted):
    with pytest.raises(BadInputError, match="corrections"):
        CAM().fit(planted.X, planted.y, bags=planted.bags, user_labels=np.zeros(len(planted.X)))
