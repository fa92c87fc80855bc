"""mi-SVM and MI-SVM: the argmax rule, and machines that agree with scikit-learn's."""

import numpy as np
import pytest
from sklearn.svm import SVC

from segvote.voters.mil.mi_svm import BagMISVM, MiSVM, _ExactMachine, _MappedMachine, guess_labels
from segvote.voters.mil.prototypes import measure_kernel


def test_a_with_bag_without_a_positive_keeps_its_best_segment(small_bags):
    votes = -1.0 - np.arange(len(small_bags.X))
    labels = guess_labels(votes, small_bags)
    assert small_bags.sum(labels.astype(int)).tolist() == [1, 1, 1, 0, 0, 0]
    assert labels[small_bags.starts[:3]].all()


def test_positive_votes_are_kept_in_with_bags_only(small_bags):
    labels = guess_labels(np.ones(len(small_bags.X)), small_bags)
    np.testing.assert_array_equal(labels, small_bags.positive)


def test_the_exact_machine_votes_as_scikit_learn_does(planted):
    model = SVC(C=2.0, gamma=0.1, class_weight="balanced").fit(planted.X, planted.y)
    rows = np.arange(len(planted.X))
    votes = _ExactMachine(2.0, 0.1).fit(planted.X, planted.y == 1, rows).vote(planted.X)
    np.testing.assert_allclose(votes, model.decision_function(planted.X), atol=1e-9)


def test_the_map_on_all_segments_has_the_kernel_as_its_product(planted):
    points = planted.X[::4]
    mapped = _MappedMachine(1.0, 0.2, points, np.arange(len(points))).map(points)
    np.testing.assert_allclose(mapped @ mapped.T, measure_kernel(points, points, 0.2), atol=1e-6)


@pytest.mark.parametrize("voter", [MiSVM, BagMISVM])
def test_the_mapped_machine_is_explained_by_its_landmarks(voter, planted):
    fitted = voter(max_exact=100, n_landmarks=50).fit(planted.X, planted.y, bags=planted.bags)
    assert len(fitted._prototypes.rows) == 50
    explained = fitted.explain(3)
    assert explained.score == pytest.approx(fitted.scores_[3])


def test_mi_svm_stops_when_its_guess_comes_back(planted):
    fitted = MiSVM(max_iter=100).fit(planted.X, planted.y, bags=planted.bags)
    assert fitted.n_iter_ < 100


def test_witnesses_of_mi_svm_are_one_per_with_bag(planted):
    fitted = BagMISVM().fit(planted.X, planted.y, bags=planted.bags)
    voters = fitted._prototypes.rows[planted.y[fitted._prototypes.rows] == 1]
    assert len(np.unique(planted.bags[voters])) == len(voters) <= 10
