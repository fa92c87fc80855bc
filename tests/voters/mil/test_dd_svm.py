"""DD-SVM: distinct concepts, bags by their distances to them, segments judged inside a typical bag."""

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest

from segvote.voters.mil.dd_svm import DDSVM, SAME_CONCEPT
from segvote.voters.mil.learning_bags import sort_bags


@pytest.fixture
def fitted(planted):
    return DDSVM(n_starts=4, max_iter=20).fit(planted.X, planted.y, bags=planted.bags)


def test_the_distance_of_a_bag_is_that_of_its_nearest_segment(fitted, planted):
    bags = sort_bags(planted.X, planted.bags, planted.y == 1)
    scaled = replace(bags, X=fitted._standard.apply(bags.X))
    table = fitted._embed(scaled)
    for bag in (0, 19):
        members = scaled.X[scaled.codes == bag]
        for column, concept in enumerate(fitted.concepts_):
            distances = [np.sqrt(np.sum(concept.scale**2 * (x - concept.point) ** 2)) for x in members]
            assert table[bag, column] == pytest.approx(min(distances))


def test_concepts_of_one_label_are_distinct(fitted, planted):
    bags = sort_bags(planted.X, planted.bags, planted.y == 1)
    kept = fitted._find_concepts(replace(bags, X=fitted._standard.apply(bags.X)))
    for first, second in combinations(kept, 2):
        assert first.measure(second.point[None])[0] > SAME_CONCEPT


def test_a_segment_that_adds_nothing_scores_as_the_typical_bag(fitted, planted):
    typical = fitted._model.decision_function(fitted._table_standard.apply(fitted._typical[None]))[0]
    far = planted.X[:1] + 1e3
    assert fitted._score(far, np.array([-1]), np.ones(1))[0] == pytest.approx(typical)
