"""MILBoost: the weights are the gradient, the stump search is exhaustive, large bags start with a gradient."""

import numpy as np
import pytest
from scipy.special import expit

from segvote.voters.milboost import MILBoost, MILBoostISR, StumpSearch

MODELS = [MILBoost, MILBoostISR]


def measure_likelihood_slow(y, bags, model):
    """The formulas of Viola et al., bag by bag."""
    total = 0.0
    for bag, label in enumerate(bags.labels):
        votes = y[bags.codes == bag]
        odds = np.exp(votes).sum()
        p = 1 - np.prod(1 - expit(votes)) if model is MILBoost else odds / (1 + odds)
        total += np.log(p) if label else np.log(1 - p)
    return total


def find_stump_slow(X, weights):
    best = (0.0, None)
    for feature in range(X.shape[1]):
        values = np.unique(X[:, feature])
        for cut in 0.5 * (values[1:] + values[:-1]):
            gain = weights @ np.where(X[:, feature] > cut, 1, -1)
            if abs(gain) > best[0] + 1e-12:
                best = (abs(gain), (feature, cut, np.sign(gain)))
    return best


@pytest.mark.parametrize("model", MODELS)
def test_likelihood_is_the_formula(model, small_bags, rng):
    y = rng.normal(size=len(small_bags.X))
    assert model._measure_likelihood(y, small_bags) == pytest.approx(measure_likelihood_slow(y, small_bags, model))


@pytest.mark.parametrize("model", MODELS)
def test_weights_are_the_finite_differences_of_the_likelihood(model, small_bags, rng):
    y, step = rng.normal(size=len(small_bags.X)), 1e-6
    slopes = [
        (model._measure_likelihood(y + step * row, small_bags) - model._measure_likelihood(y - step * row, small_bags))
        / (2 * step)
        for row in np.eye(len(y))
    ]
    np.testing.assert_allclose(model._differentiate(y, small_bags), slopes, atol=1e-7)


def test_the_stump_search_finds_the_best_of_all_stumps(rng):
    for _ in range(20):
        X = rng.integers(0, 4, size=(15, 3)).astype(float)  # many ties: equal values cannot be cut
        weights = rng.normal(size=15)
        stump = StumpSearch(X).find(weights)
        gain, _ = find_stump_slow(X, weights)
        assert weights @ stump.apply(X) == pytest.approx(gain)
