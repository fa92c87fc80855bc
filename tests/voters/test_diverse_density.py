"""Concepts: losses and gradients against plain formulas, climbs, and bags by their distances to concepts."""

from dataclasses import replace

import numpy as np
import pytest

from segvote.voters.bags import sort_bags
from segvote.voters.diverse_density import (
    DDSVM,
    BagLoss,
    DiverseDensity,
    EMDiverseDensity,
    GEMDiverseDensity,
)

VOTERS = [DiverseDensity, EMDiverseDensity, GEMDiverseDensity]


def measure_density_slow(point, scale, bags):
    """prod_with (1 - prod_j (1 - P)) prod_without prod_j (1 - P), multiplied out."""
    density = 1.0
    for bag, label in enumerate(bags.labels):
        members = bags.X[bags.codes == bag]
        P = np.array([np.exp(-np.sum(scale**2 * (x - point) ** 2)) for x in members])
        none = np.prod(1 - P)
        density *= 1 - none if label else none
    return density


def differ(loss, theta, step=1e-6):
    return [(loss(theta + step * row)[0] - loss(theta - step * row)[0]) / (2 * step) for row in np.eye(len(theta))]


@pytest.fixture
def theta(rng):
    return np.concatenate([rng.normal(size=3), rng.uniform(0.3, 1.0, size=3)])


def test_the_loss_is_minus_the_logarithm_of_the_formula(small_bags, theta):
    expected = -np.log(measure_density_slow(theta[:3], theta[3:], small_bags))
    assert BagLoss(small_bags)(theta)[0] == pytest.approx(expected)


def test_gradient_of_diverse_density_by_finite_differences(small_bags, theta):
    loss = BagLoss(small_bags)
    np.testing.assert_allclose(loss(theta)[1], differ(loss, theta), rtol=1e-5, atol=1e-6)


def test_gradient_of_the_shared_loss_by_finite_differences(small_bags, theta, rng):
    loss = BagLoss(small_bags).share(rng.uniform(size=len(small_bags.X)))
    np.testing.assert_allclose(loss(theta)[1], differ(loss, theta), rtol=1e-5, atol=1e-6)


def test_losses_of_many_points_are_those_of_each(small_bags, rng):
    loss, thetas = BagLoss(small_bags), rng.uniform(0.2, 1.0, size=(4, 6))
    np.testing.assert_allclose(loss.measure(thetas), [loss(theta)[0] for theta in thetas])


@pytest.mark.parametrize("voter", VOTERS)
def test_the_vote_is_the_logarithm_of_the_probability(voter, planted):
    fitted = voter(n_starts=2).fit(planted.X, planted.y, bags=planted.bags)
    scaled = (planted.X - fitted._standard.centre) / fitted._standard.spread
    concept = fitted.concept_
    expected = [-np.sum(concept.scale**2 * (x - concept.point) ** 2) for x in scaled]
    np.testing.assert_allclose(fitted.scores_ + fitted.threshold_, expected)
    np.testing.assert_allclose(fitted.predict_proba(planted.X)[:, 1], np.exp(expected), atol=1e-12)


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
