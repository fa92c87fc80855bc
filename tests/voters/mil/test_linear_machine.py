import numpy as np
import pytest
from scipy.optimize import approx_fprime
from sklearn.svm import LinearSVC

from segvote.voters.mil.linear_machine import SquaredHinge, fit_linear_machine


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


def test_where_it_starts_does_not_change_the_answer(rows):
    X, labels = rows
    start = 10 * np.random.default_rng(2).normal(size=7)
    np.testing.assert_allclose(
        fit_linear_machine(X, labels, 1.0, start), fit_linear_machine(X, labels, 1.0), rtol=1e-5, atol=1e-6
    )
