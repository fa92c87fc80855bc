"""The search of large sets: most of the true neighbours, measured from the full vectors."""

import tracemalloc

import faiss
import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from segvote.numerics import approximate, neighbours, points, search_neighbours


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
    found = search_neighbours(X, X, 10, bags, bags)
    assert (bags[found.indices] != bags[:, None]).all()
    recall = np.mean([np.isin(a, b).mean() for a, b in zip(exact.indices, found.indices, strict=True)])
    assert recall > 0.9
    assert found.recall == pytest.approx(recall, abs=0.05)
    true = np.sum((X[:, None].astype(float) - X[found.indices]) ** 2, axis=-1)
    np.testing.assert_allclose(found.squared, true, rtol=1e-3)
    assert (np.diff(found.squared, axis=1) >= 0).all()


def test_features_without_structure_are_searched_exactly(monkeypatch):
    X = np.random.default_rng(0).normal(size=(2000, 200)).astype(np.float32)
    bags = np.arange(2000) // 10
    exact = search_neighbours(X, X, 10, bags, bags)
    monkeypatch.setattr(neighbours, "EXACT_PAIRS", 1_000_000)
    monkeypatch.setattr(approximate, "N_COMPONENTS", 4)
    assert np.array_equal(search_neighbours(X, X, 10, bags, bags).indices, exact.indices)


def test_an_approximate_search_never_claims_to_have_found_all(clustered, monkeypatch):
    X, bags = clustered
    monkeypatch.setattr(neighbours, "EXACT_PAIRS", 0)
    assert search_neighbours(X, X, 1, bags, bags).recall < 1


@pytest.mark.parametrize(
    "name", [(approximate, "QUERIES_AT_ONCE"), (approximate, "VOTERS_AT_ONCE"), (points, "PAIRS_AT_ONCE")]
)
def test_how_much_is_done_at_once_changes_no_neighbour(clustered, monkeypatch, name):
    X, bags = clustered
    expected = approximate.search_approximately(X, X, 10, (bags, bags), 0)
    monkeypatch.setattr(*name, 700)
    found = approximate.search_approximately(X, X, 10, (bags, bags), 0)
    assert all(np.array_equal(a, b) for a, b in zip(expected, found, strict=True))


def test_neighbours_are_found_beyond_the_own_bag(monkeypatch):
    rng = np.random.default_rng(0)
    bags = np.repeat([0, 1], 1500)
    X = (rng.normal(size=(3000, 20)) + 30 * bags[:, None]).astype(np.float32)
    exact = search_neighbours(X, X, 5, bags, bags)
    monkeypatch.setattr(neighbours, "EXACT_PAIRS", 0)
    monkeypatch.setattr(neighbours, "LEAST_RECALL", 0)
    found = search_neighbours(X, X, 5, bags, bags)
    assert 0.9 < found.recall < 1
    assert (bags[found.indices] != bags[:, None]).all()
    assert np.mean(found.indices == exact.indices) > 0.8


def test_where_a_bag_has_too_few_others_all_of_them_are_found(monkeypatch):
    X = np.random.default_rng(0).normal(size=(2000, 8)).astype(np.float32)
    bags = np.where(np.arange(2000) < 1997, 0, 1)
    monkeypatch.setattr(neighbours, "EXACT_PAIRS", 0)
    found = search_neighbours(X, X, 5, bags, bags)
    assert (np.sort(found.indices[:1997], axis=1) == [-1, -1, 1997, 1998, 1999]).all()
    assert np.isinf(found.squared[:1997, 3:]).all()


def test_the_vectors_are_never_copied_as_a_whole(monkeypatch):
    rng = np.random.default_rng(0)
    X = (rng.normal(size=(8000, 400)) * np.geomspace(1, 1e-3, 400)).astype(np.float32)
    for name in ("QUERIES_AT_ONCE", "VOTERS_AT_ONCE"):
        monkeypatch.setattr(approximate, name, 500)
    monkeypatch.setattr(approximate, "N_COMPONENTS", 40)
    monkeypatch.setattr(approximate, "N_SAMPLED", 20)
    monkeypatch.setattr(approximate, "_count_lists", lambda n_voters: 16)
    import faiss  # noqa: F401  # what it takes itself does not count

    tracemalloc.start()
    approximate.search_approximately(X, X, 3, None, 0)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 0.75 * X.nbytes


def test_copies_of_one_vector_are_neighbours_of_each_other(monkeypatch):
    rng = np.random.default_rng(0)
    X = np.repeat(rng.normal(size=(500, 20)), 4, axis=0).astype(np.float32)
    bags = np.tile(np.arange(4), 500)
    monkeypatch.setattr(neighbours, "EXACT_PAIRS", 0)
    found = search_neighbours(X, X, 3, bags, bags)
    assert (found.squared == 0).all()
    assert (found.indices // 4 == np.arange(2000)[:, None] // 4).all()


def test_lists_are_learned_by_one_thread(monkeypatch):
    """Of 40,000 segments, two threads learn other axes than one, and other neighbours are found."""
    seen, train = [], faiss.PCAMatrix.train

    def observe(axes, points):
        seen.extend(pool["num_threads"] for pool in threadpool_info())
        return train(axes, points)

    monkeypatch.setattr(faiss.PCAMatrix, "train", observe)
    X = np.random.default_rng(0).random((400, 8)).astype(np.float32)
    with threadpool_limits(2):
        approximate.search_approximately(X, X, 5, None, 0.0)
    assert set(seen) == {1}
