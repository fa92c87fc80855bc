"""Every pair measured once gives the neighbours that a search for each point gives."""

import numpy as np
import pytest

from segvote.numerics import neighbours, pairs, search_neighbours
from segvote.numerics.pairs import propose_nearest

BAGS = np.arange(1500) // 20


@pytest.fixture
def points():
    X = np.random.default_rng(0).normal(size=(1500, 12)).astype(np.float32)
    X[700:720] = X[:20]  # equal points in other bags
    return X


@pytest.fixture(autouse=True)
def _small_blocks(monkeypatch):
    monkeypatch.setattr(pairs, "SIDE", 128)
    monkeypatch.setattr(pairs, "ROWS_AT_ONCE", 100)
    monkeypatch.setattr(neighbours, "LEAST_PAIRED", 2)


def search_each(monkeypatch, *arguments):
    """The search for each point by faiss."""
    with monkeypatch.context() as patch:
        patch.setattr(neighbours, "LEAST_PAIRED", np.inf)
        return search_neighbours(*arguments)


def assert_same(one, other):
    np.testing.assert_array_equal(one.indices, other.indices)
    np.testing.assert_array_equal(one.squared, other.squared)


def test_proposed_are_the_nearest_of_other_bags(points):
    squared = ((points[:, None].astype(float) - points) ** 2).sum(axis=2)
    squared[BAGS[:, None] == BAGS] = np.inf
    proposed = propose_nearest(points, BAGS, 15)
    known = proposed[:, 0] >= 0
    assert known.mean() > 0.9 and (proposed[~known] == -1).all()
    assert all(len(set(row)) == 15 for row in proposed[known])
    distances = np.sort(np.take_along_axis(squared, proposed, axis=1), axis=1)
    np.testing.assert_allclose(distances[known], np.sort(squared, axis=1)[known, :15], rtol=1e-4)


@pytest.mark.parametrize("k", [1, 7, 40])
def test_neighbours_have_the_same_bits_either_way(points, monkeypatch, k):
    assert_same(
        search_neighbours(points, points, k, BAGS, BAGS.copy()), search_each(monkeypatch, points, points, k, BAGS, BAGS)
    )


def test_too_few_points_of_other_bags_leave_gaps(points, monkeypatch):
    bags = (np.arange(1500) < 5).astype(int)
    nearest = search_neighbours(points, points, 7, bags, bags)
    assert_same(nearest, search_each(monkeypatch, points, points, 7, bags, bags))
    assert (nearest.indices[5:, :5] < 5).all() and (nearest.indices[5:, 5:] == -1).all()


def test_equal_points_are_not_listed(points, monkeypatch):
    points[100:] = points[0]
    assert (propose_nearest(points, BAGS, 15) == -1).all()
    assert_same(
        search_neighbours(points, points, 7, BAGS, BAGS), search_each(monkeypatch, points, points, 7, BAGS, BAGS)
    )


def test_each_pair_is_measured_once(points, monkeypatch):
    measured, measure = np.zeros((1500, 1500), dtype=int), pairs._PairSearch._measure

    def count(search, rows, columns):
        if columns.step is None:
            measured[rows, columns] += 1
        return measure(search, rows, columns)

    monkeypatch.setattr(pairs._PairSearch, "_measure", count)
    propose_nearest(points, BAGS, 7)
    assert (measured + measured.T)[np.triu_indices(1500, 1)].min() == measured.max() == 1
