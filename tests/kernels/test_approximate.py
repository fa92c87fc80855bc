"""The search of large sets: most of the true neighbours, measured from the full vectors."""

import numpy as np
import pytest

from segvote.kernels import neighbours, search_neighbours, search_with_recall


@pytest.fixture
def clustered():
    rng = np.random.default_rng(0)
    centres = rng.normal(size=(40, 120))
    X = centres[rng.integers(40, size=3000)] + 0.3 * rng.normal(size=(3000, 120))
    return X.astype(np.float32), np.arange(3000) // 20


def test_most_neighbours_are_found_and_none_of_the_own_bag(clustered, monkeypatch):
    X, bags = clustered
    exact = search_neighbours(X, X, 10, bags, bags)
    monkeypatch.setattr(neighbours, "EXACT_PAIRS", 1_000_000)
    squared, indices, told = search_with_recall(X, X, 10, bags, bags)
    assert (bags[indices] != bags[:, None]).all()
    recall = np.mean([np.isin(a, b).mean() for a, b in zip(exact[1], indices, strict=True)])
    assert recall > 0.9
    assert told == pytest.approx(recall, abs=0.05)
    true = np.sum((X[:, None].astype(float) - X[indices]) ** 2, axis=-1)
    np.testing.assert_allclose(squared, true, rtol=1e-3)
    assert (np.diff(squared, axis=1) >= 0).all()


def test_the_same_set_gives_the_same_neighbours(clustered, monkeypatch):
    X, bags = clustered
    monkeypatch.setattr(neighbours, "EXACT_PAIRS", 1_000_000)
    first, second = (search_neighbours(X, X, 10, bags, bags) for _ in range(2))
    assert all(np.array_equal(a, b) for a, b in zip(first, second, strict=True))


def test_a_small_set_is_searched_exactly(clustered):
    X, bags = clustered
    assert search_with_recall(X, X, 5, bags, bags)[2] == 1.0


def test_features_without_structure_are_searched_exactly(monkeypatch):
    X = np.random.default_rng(0).normal(size=(2000, 200)).astype(np.float32)
    bags = np.arange(2000) // 10
    exact = search_neighbours(X, X, 10, bags, bags)
    monkeypatch.setattr(neighbours, "EXACT_PAIRS", 1_000_000)
    assert np.array_equal(search_neighbours(X, X, 10, bags, bags)[1], exact[1])
