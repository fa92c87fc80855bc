"""Otsu's threshold against trying every split."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from segvote.numerics import otsu_threshold
from segvote.numerics.otsu import MAX_SPLIT, split_each, split_in_three


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


def test_arrays_split_together_give_the_bits_of_each_alone():
    rng = np.random.default_rng(0)
    values = [np.round(rng.random(n), digits) for n in (1, 2, 200, 173, 200, 2) for digits in (0, 1, 15)]
    weights = [rng.integers(1, 3000, len(one)) for one in values]
    alone = [split_each([one], [other]) for one, other in zip(values, weights, strict=True)]
    assert np.array_equal(split_each(values, weights), np.concatenate(alone, axis=1))


def test_separability_is_a_ratio_of_variances():
    rng = np.random.default_rng(0)
    values, weights = rng.random(50), rng.integers(1, 9, 50).astype(float)
    (threshold,), (separability,) = split_each([values], [weights])
    variance = np.average((values - np.average(values, weights=weights)) ** 2, weights=weights)
    assert separability == pytest.approx(measure_between(values, weights, threshold) / variance)
    assert split_each([np.full(3, 2.0)], [np.ones(3)]) == (2.0, 0.0)


def measure_between_three(values, weights, cuts):
    """Variance between the three parts, times the weight of all."""
    parts, mean = np.digitize(values, cuts, right=True), np.average(values, weights=weights)
    chosen = [parts == part for part in range(3) if (parts == part).any()]
    return sum(weights[own].sum() * (np.average(values[own], weights=weights[own]) - mean) ** 2 for own in chosen)


@given(st.integers(0, 2**32 - 1), st.integers(3, 25))
@settings(max_examples=60, deadline=None)
def test_no_other_two_thresholds_separate_better(seed, n):
    rng = np.random.default_rng(seed)
    values, weights = rng.integers(0, 12, n) / 7, rng.integers(1, 9, n).astype(float)
    low, high = split_in_three(values, weights)
    levels = np.unique(values)
    if len(levels) < 3:
        assert low == high == levels[-1]
        return
    pairs = [(one, other) for one in levels[:-1] for other in levels[:-1] if one < other]
    best = max(measure_between_three(values, weights, pair) for pair in pairs)
    assert low < high and measure_between_three(values, weights, (low, high)) == pytest.approx(best)


def test_many_values_are_split_in_three_nearly_as_well():
    rng = np.random.default_rng(0)
    values = np.concatenate([rng.normal(place, 0.3, 400) for place in (0, 2, 5)])
    weights = rng.uniform(1, 9, len(values))
    assert len(np.unique(values)) > MAX_SPLIT
    low, high = split_in_three(values, weights)
    grid = np.linspace(values.min(), values.max(), 60)[1:-1]
    best = max(measure_between_three(values, weights, (one, other)) for one in grid for other in grid if one < other)
    assert measure_between_three(values, weights, (low, high)) >= 0.999 * best
