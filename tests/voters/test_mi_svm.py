"""mi-SVM and MI-SVM: guesses, the exact and the mapped machine, and the linear one against scikit-learn's."""

import numpy as np
import pytest
from sklearn.svm import SVC, LinearSVC

from segvote.voters.mi_svm import MiSVM, _ExactMachine, fit_linear_machine


def test_a_with_bag_without_a_positive_keeps_its_best_segment(small_bags):
    votes = -1.0 - np.arange(len(small_bags.X))
    labels = MiSVM()._guess(votes, small_bags)
    assert small_bags.sum(labels.astype(int)).tolist() == [1, 1, 1, 0, 0, 0]
    assert labels[small_bags.starts[:3]].all()


def test_the_exact_machine_votes_as_scikit_learn_does(planted):
    model = SVC(C=2.0, gamma=0.1, class_weight="balanced").fit(planted.X, planted.y)
    rows = np.arange(len(planted.X))
    votes = _ExactMachine(2.0, 0.1).fit(planted.X, planted.y == 1, rows).vote(planted.X)
    np.testing.assert_allclose(votes, model.decision_function(planted.X), atol=1e-9)


@pytest.mark.parametrize("C", [0.01, 1.0, 100.0])
def test_the_linear_machine_is_that_of_scikit_learn(rng, C):
    X = rng.normal(size=(200, 6))
    labels = X[:, 0] + 0.5 * rng.normal(size=200) > 0.8
    model = LinearSVC(C=C, dual=False, class_weight="balanced", tol=1e-10, max_iter=100_000).fit(X, labels)
    answer = fit_linear_machine(X, labels, C)
    np.testing.assert_allclose(answer, np.append(model.coef_[0], model.intercept_), rtol=1e-4, atol=1e-5)
