"""Otsu's threshold against trying every split."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from segvote.kernels import otsu_threshold


def measure_between(values, weights, threshold):
    above = values > threshold
    if above.all() or not above.any():
        return 0.0
    total = weights.sum()
    p, q = weights[above].sum() / total, weights[~above].sum() / total
    gap = np.average(values[above], weights=weights[above]) - np.average(values[~above], weights=weights[~above])
    return p * q * gap**2


@given(st.integers(0, 2**32 - 1), st.integers(1, 40))
@settings(max_examples=60, deadline=None)
def test_no_other_threshold_separates_better(seed, n):
    rng = np.random.default_rng(seed)
    values, weights = rng.integers(0, 10, n) / 7, rng.integers(1, 9, n).astype(float)
    best = max(measure_between(values, weights, t) for t in np.concatenate([values, values - 1e-9]))
    np.testing.assert_allclose(measure_between(values, weights, otsu_threshold(values, weights)), best, atol=1e-12)


def test_equal_values_are_their_own_threshold():
    assert otsu_threshold(np.full(5, 3.0)) == 3.0


def test_two_clear_levels_are_split_in_the_middle():
    assert otsu_threshold(np.array([0.0, 0.0, 1.0, 1.0])) == 0.5
