"""Every pair measured once finds the neighbours that all pairs measured twice find."""

import numpy as np
import pytest

from segvote.kernels import Neighbours, all_pairs, blocks, neighbours
from segvote.kernels.all_pairs import propose_nearest


@pytest.fixture
def points():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1500, 12)).astype(np.float32)
    X[700:720] = X[:20]  # equal points in other bags
    return X


@pytest.fixture
def bags():
    return np.arange(1500) // 20


def measure_slow(points, bags):
    squared = ((points[:, None].astype(float) - points) ** 2).sum(axis=2)
    squared[bags[:, None] == bags] = np.inf
    return squared


def test_proposed_are_the_nearest_of_other_bags(points, bags, monkeypatch):
    monkeypatch.setattr(all_pairs, "SIDE", 128)
    monkeypatch.setattr(all_pairs, "ROWS_AT_ONCE", 100)
    found, squared = propose_nearest(points, bags, 15), measure_slow(points, bags)
    known = found[:, 0] >= 0
    assert known.mean() > 0.9
    assert (found[~known] == -1).all()
    assert all(len(set(row)) == 15 for row in found[known])
    proposed = np.sort(np.take_along_axis(squared, found, axis=1), axis=1)
    assert np.allclose(proposed[known], np.sort(squared, axis=1)[known, :15])  # of equal ones, either


def test_every_way_of_searching_finds_the_same_bits(points, bags, monkeypatch):
    usual = Neighbours.search(points, 7, bags)
    monkeypatch.setattr(neighbours, "LEAST_PAIRED", 2)
    pairs = Neighbours.search(points, 7, bags)
    monkeypatch.setattr(blocks.os, "cpu_count", lambda: 1)
    alone = Neighbours.search(points, 7, bags)
    for other in (pairs, alone):
        assert np.array_equal(usual.indices, other.indices)
        assert np.array_equal(usual.squared, other.squared)


def test_too_few_points_of_other_bags_leave_gaps(points, monkeypatch):
    monkeypatch.setattr(neighbours, "LEAST_PAIRED", 2)
    bags = (np.arange(1500) < 5).astype(int)
    found = Neighbours.search(points, 7, bags)
    assert (found.indices[5:, :5] < 5).all()
    assert (found.indices[5:, 5:] == -1).all()
    assert (found.indices[:5] >= 5).all()


def test_each_pair_is_measured_once(points, bags, monkeypatch):
    monkeypatch.setattr(all_pairs, "SIDE", 128)
    measured = np.zeros((1500, 1500), dtype=int)
    measure = all_pairs._PairSearch._measure

    def count(search, rows, columns):
        if isinstance(columns, slice):
            measured[rows, columns] += 1
        return measure(search, rows, columns)

    monkeypatch.setattr(all_pairs._PairSearch, "_measure", count)
    monkeypatch.setattr(blocks.os, "cpu_count", lambda: 1)
    propose_nearest(points, bags, 7)
    assert (measured + measured.T)[np.triu_indices(1500, 1)].min() == 1
    assert measured.max() == 1
