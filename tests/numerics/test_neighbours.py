"""Neighbour search, vote graphs and candidates against brute force."""

from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from segvote.numerics import neighbours, search_neighbours
from segvote.numerics.points import keep_nearest


def search_slow(queries, voters, k, query_bags, voter_bags):
    """Squared distances in double precision of the k nearest voters of other bags, query by query."""
    squared = ((queries[:, None].astype(float) - voters) ** 2).sum(axis=2)
    foreign = query_bags[:, None] != voter_bags
    return [np.sort(row[there])[:k] for row, there in zip(squared, foreign, strict=True)]


def build_slow(squared, indices, n_voters):
    votes = np.zeros((len(indices), n_voters))
    for i, (row, near) in enumerate(zip(squared, indices, strict=True)):
        found = [(d, j) for d, j in zip(row, near, strict=True) if j >= 0]
        if not found:
            continue
        bandwidth = np.sqrt(found[-1][0]) / 2
        for d, j in found:
            votes[i, j] = np.exp(-(d - found[0][0]) / (2 * bandwidth**2)) if bandwidth > 0 else 1.0
        votes[i] /= votes[i].sum()
    return votes


@given(st.integers(0, 2**32 - 1), st.integers(1, 60), st.integers(1, 12), st.integers(1, 9))
@settings(max_examples=60, deadline=None)
def test_the_nearest_of_other_bags_are_found(seed, n, k, bag_size):
    rng = np.random.default_rng(seed)
    X, bags = rng.normal(size=(n, 3)).astype(np.float32), np.arange(n) // bag_size
    for least in (1, neighbours.LEAST_PAIRED):  # every pair measured once, or a search for each row
        with mock.patch.object(neighbours, "LEAST_PAIRED", least):
            indices = search_neighbours(X, X, k, bags, bags).indices
        for row, (near, expected) in enumerate(zip(indices, search_slow(X, X, k, bags, bags), strict=True)):
            near = near[near >= 0]
            assert len(set(near)) == len(near) == len(expected) and (bags[near] != bags[row]).all()
            # The search is in single precision: two voters may change places where they are equally far in it.
            np.testing.assert_allclose(
                ((X[row].astype(float) - X[near]) ** 2).sum(axis=1), expected, rtol=1e-5, atol=1e-6
            )


def test_a_bag_larger_than_the_first_guess_is_passed_over():
    rng = np.random.default_rng(0)
    crowd = rng.normal(scale=0.01, size=(300, 4))
    X, bags = np.concatenate([crowd, crowd[:5] + 5]), np.array([0] * 300 + [1] * 5)
    indices = search_neighbours(X, X, 3, bags, bags).indices
    assert (indices[:300] >= 300).all()
    assert (indices[300:] < 300).all()


def test_blocks_do_not_change_neighbours(monkeypatch):
    rng = np.random.default_rng(1)
    X, bags = rng.normal(size=(200, 6)), np.arange(200) // 10
    whole = search_neighbours(X, X, 5, bags, bags)
    monkeypatch.setattr(neighbours, "QUERIES_PER_BLOCK", 13)
    parts = search_neighbours(X, X, 5, bags, bags)
    assert np.array_equal(whole.squared, parts.squared) and np.array_equal(whole.indices, parts.indices)


def test_fewer_voters_than_wanted_leave_gaps():
    found = search_neighbours(np.zeros((2, 2)), np.ones((1, 2)), 3)
    assert found.indices.tolist() == [[0, -1, -1]] * 2
    assert np.isinf(found.squared[:, 1:]).all()


@given(st.integers(0, 2**32 - 1), st.integers(2, 30), st.integers(1, 8))
@settings(max_examples=40, deadline=None)
def test_votes_equal_the_formula(seed, n, k):
    X = np.random.default_rng(seed).normal(size=(n, 2))
    found = search_neighbours(X, X, k, np.arange(n), np.arange(n))
    expected = build_slow(found.squared, found.indices, n)
    np.testing.assert_allclose(found.build_graph().toarray(), expected, rtol=1e-9)


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e3])
def test_votes_do_not_depend_on_the_unit_of_features(scale):
    X = np.random.default_rng(2).normal(size=(40, 3))
    bags = np.arange(40) // 4
    graphs = [search_neighbours(Z, Z, 6, bags, bags).build_graph().toarray() for Z in (X, X * scale)]
    np.testing.assert_allclose(graphs[1], graphs[0], rtol=1e-4, atol=1e-7)


def test_the_nearest_candidates_are_those_of_the_formula():
    rng = np.random.default_rng(0)
    queries, voters = (rng.normal(size=(n, 37)).astype(np.float32) for n in (50, 200))
    candidates = np.array([rng.permutation(200)[:30] for _ in range(50)])
    candidates[rng.random(candidates.shape) < 0.2] = -1
    squared, indices = keep_nearest(queries, voters, candidates, 10)
    for query, row, distances, nearest in zip(queries, candidates, squared, indices, strict=True):
        true = {int(j): float(((query.astype(float) - voters[j]) ** 2).sum()) for j in row if j >= 0}
        expected = sorted(true, key=true.get)[:10]
        assert nearest.tolist() == expected
        np.testing.assert_allclose(distances, [true[j] for j in expected], rtol=1e-5)


def test_ties_go_by_index_and_gaps_stay_empty():
    points = np.zeros((4, 3), dtype=np.float32)
    squared, indices = keep_nearest(points[:1], points, np.array([[3, -1, 1]]), 3)
    assert indices.tolist() == [[1, 3, -1]]
    assert squared.tolist() == [[0, 0, np.inf]]
