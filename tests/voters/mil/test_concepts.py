"""The likelihood of diverse density: equal to its formula, its gradient to finite differences."""

import numpy as np
import pytest

from segvote.voters.mil.concepts import BagLoss, Concept, SoftLoss, climb, screen_starts


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


def test_the_gradient_of_diverse_density_is_its_finite_differences(small_bags, theta):
    loss = BagLoss(small_bags)
    np.testing.assert_allclose(loss(theta)[1], differ(loss, theta), rtol=1e-5, atol=1e-6)


def test_the_gradient_of_the_shared_loss_is_its_finite_differences(small_bags, theta, rng):
    loss = SoftLoss(small_bags, rng.uniform(size=len(small_bags.X)))
    np.testing.assert_allclose(loss(theta)[1], differ(loss, theta), rtol=1e-5, atol=1e-6)


def test_distances_use_the_square_of_the_scale():
    concept = Concept(np.zeros(2), np.array([2.0, 3.0]), 0.0)
    np.testing.assert_allclose(concept.measure(np.array([[1.0, 1.0]])), [4 + 9])


def test_a_point_on_a_segment_or_far_from_all_has_a_finite_loss(small_bags):
    for point in (small_bags.X[0], np.full(3, 1e3)):
        value, gradient = BagLoss(small_bags)(np.concatenate([point, np.ones(3)]))
        assert np.isfinite(value)
        assert np.isfinite(gradient).all()


def test_a_climb_never_ends_above_its_start(small_bags):
    loss = BagLoss(small_bags)
    for theta in screen_starts(small_bags, 3):
        assert climb(loss, theta, 20).loss <= loss(theta)[0] + 1e-12


def test_starts_are_segments_of_with_bags_the_most_promising_first(small_bags):
    loss = BagLoss(small_bags)
    starts = screen_starts(small_bags, 6)
    losses = [loss(theta)[0] for theta in starts]
    assert losses == sorted(losses)
    for theta in starts:
        assert (small_bags.X[small_bags.positive] == theta[:3]).all(axis=1).any()
