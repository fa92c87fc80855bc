"""Kernel votes do not depend on who else is asked."""

import numpy as np
import pytest

from segvote.voters.kernel_votes import sum_votes


def test_votes_are_the_formula(rng):
    X, voters, weights = rng.normal(size=(7, 3)), rng.normal(size=(20, 3)), rng.normal(size=20)
    squared = ((X[:, None] - voters) ** 2).sum(axis=2)
    expected = np.exp(-squared / (2 * 0.8**2)) @ weights
    np.testing.assert_allclose(sum_votes(X, voters, 0.8, weights), expected, rtol=1e-4, atol=1e-6)


def test_a_segment_alone_gets_the_vote_it_gets_among_others(rng):
    X, voters = rng.normal(size=(40, 5)), rng.normal(size=(100, 5))
    together = sum_votes(X, voters, 1.5)
    alone = [sum_votes(row[None], voters, 1.5)[0] for row in X]
    np.testing.assert_allclose(alone, together, rtol=1e-7)


def test_the_own_bag_is_left_out(rng):
    X, bags = rng.normal(size=(6, 2)), np.array([0, 0, 1, 1, 2, 2])
    votes = sum_votes(X, X, 1.0, None, bags, bags)
    for row in range(6):
        assert votes[row] == pytest.approx(sum_votes(X[row][None], X[bags != bags[row]], 1.0)[0], rel=1e-5)
