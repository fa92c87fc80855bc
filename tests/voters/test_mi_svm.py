"""mi-SVM and MI-SVM: guesses, the exact and the mapped machine, and the linear one against scikit-learn's."""

import numpy as np
import pytest
from scipy.optimize import approx_fprime
from sklearn.svm import SVC, LinearSVC

from segvote.voters.mi_svm import (
    SquaredHinge,
    _ExactMachine,
    fit_linear_machine,
    guess_labels,
)


def test_a_with_bag_without_a_positive_keeps_its_best_segment(small_bags):
    votes = -1.0 - np.arange(len(small_bags.X))
    labels = guess_labels(votes, small_bags)
    assert small_bags.sum(labels.astype(int)).tolist() == [1, 1, 1, 0, 0, 0]
    assert labels[small_bags.starts[:3]].all()


def test_the_exact_machine_votes_as_scikit_learn_does(planted):
    model = SVC(C=2.0, gamma=0.1, class_weight="balanced").fit(planted.X, planted.y)
    rows = np.arange(len(planted.X))
    votes = _ExactMachine(2.0, 0.1).fit(planted.X, planted.y == 1, rows).vote(planted.X)
    np.testing.assert_allclose(votes, model.decision_function(planted.X), atol=1e-9)


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 6))
    return X, X[:, 0] + 0.5 * rng.normal(size=200) > 0.8


@pytest.mark.parametrize("C", [0.01, 1.0, 100.0])
def test_the_answer_is_that_of_scikit_learn(rows, C):
    X, labels = rows
    model = LinearSVC(C=C, dual=False, class_weight="balanced", tol=1e-10, max_iter=100_000).fit(X, labels)
    answer = fit_linear_machine(X, labels, C)
    np.testing.assert_allclose(answer, np.append(model.coef_[0], model.intercept_), rtol=1e-4, atol=1e-5)


def test_derivatives_are_those_of_finite_differences(rows):
    loss = SquaredHinge(*rows, C=2.0)
    w = np.random.default_rng(1).normal(size=7)
    np.testing.assert_allclose(loss(w)[1], approx_fprime(w, lambda v: loss(v)[0], 1e-7), rtol=1e-4, atol=1e-3)
    rows_of_second = [approx_fprime(w, lambda v, k=k: loss(v)[1][k], 1e-7) for k in range(7)]
    np.testing.assert_allclose(loss.measure_curvature(w), rows_of_second, rtol=1e-4, atol=1e-3)
