"""Bags with a planted object, small enough for every voter."""

from dataclasses import dataclass

import numpy as np
import pytest


@dataclass(frozen=True)
class Planted:
    X: np.ndarray  # (n, d)
    y: np.ndarray  # (n,) 1 on segments of *with* bags
    bags: np.ndarray  # (n,)
    truth: np.ndarray  # (n,) bool: the segment is the planted object

    @property
    def candidates(self):
        return self.y == 1


def make_planted(n_with=10, n_without=10, n_segments=12, n_object=2, n_dims=6, seed=0):
    """Four background clusters that all bags share, and one tight cluster in the *with* bags only."""
    rng = np.random.default_rng(seed)
    bags = np.repeat(np.arange(n_with + n_without), n_segments)
    y = (bags < n_with).astype(int)
    truth = (y == 1) & (np.tile(np.arange(n_segments), n_with + n_without) < n_object)
    centres = rng.normal(0, 2, size=(4, n_dims))
    X = centres[rng.integers(4, size=len(bags))] + rng.normal(0, 0.7, size=(len(bags), n_dims))
    X[truth] = 3 + rng.normal(0, 0.5, size=(truth.sum(), n_dims))
    return Planted(X, y, bags, truth)


@pytest.fixture(scope="session")
def planted():
    """Only for reading."""
    return make_planted()


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.fixture
def small_bags(rng):
    """Six bags of unequal sizes, sorted as the learners see them."""
    from segvote.voters.bags import sort_bags

    codes = np.repeat(np.arange(6), [1, 3, 2, 4, 5, 2])
    return sort_bags(rng.normal(size=(len(codes), 3)), codes, codes < 3)
