"""The linear classifier against its formula."""

import numpy as np
import pytest

from segvote.method.linear import RIDGE, fit_direction, sum_moments


def fit_slowly(X, selected, used):
    """Weighted least squares in double precision, segment by segment."""
    X = X.astype(np.float64)
    weights = np.where(selected, 0.5 / (selected & used).sum(), 0.5 / (~selected & used).sum()) * used
    mean = sum(w * x for w, x in zip(weights, X, strict=True))
    C = sum(w * np.outer(x - mean, x - mean) for w, x in zip(weights, X, strict=True))
    cross = sum(w * (1 if one else -1) * x for w, one, x in zip(weights, selected, X, strict=True))
    return np.linalg.solve(C + RIDGE * np.trace(C) / len(C) * np.eye(len(C)), cross)


@pytest.mark.parametrize("share", [0.05, 0.5, 0.9])
def test_the_direction_is_that_of_the_formula(share):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20_000, 12)).astype(np.float32)
    selected, used = rng.random(20_000) < share, rng.random(20_000) < 0.8
    X[selected] += np.float32(0.3)
    slow = fit_slowly(X, selected, used)
    np.testing.assert_allclose(fit_direction(X, selected, used), slow, rtol=1e-3, atol=1e-4)
    np.testing.assert_array_equal(fit_direction(X, selected, used), fit_direction(X, selected, used, sum_moments(X)))


def test_unused_segments_do_not_change_the_direction():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(500, 6)).astype(np.float32)
    selected, used = rng.random(500) < 0.3, rng.random(500) < 0.7
    moved = np.where(used[:, None], X, 10 * X)
    np.testing.assert_allclose(
        fit_direction(X, selected, used), fit_direction(moved, selected, used), rtol=1e-3, atol=1e-4
    )


def test_equal_features_have_a_finite_direction():
    X = np.ones((40, 3), dtype=np.float32)
    assert np.isfinite(fit_direction(X, np.arange(40) < 10, np.ones(40, dtype=bool))).all()
