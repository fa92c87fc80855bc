"""Kernel sums against the formula written plainly."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from segvote.errors import BadInputError
from segvote.numerics import fill_kernel, gaussian, multiply_kernel, search_neighbours, sum_kernel


def sum_kernel_slow(queries, voters, bandwidths, weights=None, query_bags=None, voter_bags=None):
    sums = np.zeros((len(bandwidths), len(queries)))
    for s, bandwidth in enumerate(bandwidths):
        for i, x in enumerate(queries.astype(float)):
            for j, v in enumerate(voters.astype(float)):
                if query_bags is not None and query_bags[i] == voter_bags[j]:
                    continue
                weight = 1.0 if weights is None else weights[j]
                sums[s, i] += weight * np.exp(-np.sum((x - v) ** 2) / (2 * bandwidth**2))
    return sums


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def draw(rng, n, d, unit=False):
    X = rng.normal(size=(n, d))
    return X / np.linalg.norm(X, axis=1, keepdims=True) if unit else X


@pytest.mark.parametrize("unit", [True, False])
@pytest.mark.parametrize("d", [1, 3, 50])
def test_sums_equal_the_formula(rng, d, unit):
    X, V, weights = draw(rng, 17, d, unit), draw(rng, 23, d, unit), rng.random(23)
    bandwidths = [0.05, 0.5, 3.0]
    np.testing.assert_allclose(
        sum_kernel(X, V, bandwidths, weights), sum_kernel_slow(X, V, bandwidths, weights), rtol=2e-5, atol=1e-7
    )


def test_own_bag_is_left_out(rng):
    X, bags = draw(rng, 30, 4), np.arange(30) // 4
    fast = sum_kernel(X, X, [1.0], None, bags, bags)
    np.testing.assert_allclose(fast, sum_kernel_slow(X, X, [1.0], None, bags, bags), rtol=2e-5)


def test_blocks_do_not_change_votes(rng, monkeypatch):
    X, V, weights = draw(rng, 60, 8), draw(rng, 90, 8), rng.random(90)
    whole = sum_kernel(X, V, [0.7], weights)
    monkeypatch.setattr(gaussian, "QUERIES_PER_BLOCK", 7)
    monkeypatch.setattr(gaussian, "VOTERS_PER_BLOCK", 11)
    np.testing.assert_allclose(sum_kernel(X, V, [0.7], weights), whole, rtol=1e-5)


def test_threads_do_not_change_a_bit(rng):
    X, V = draw(rng, 1500, 20), draw(rng, 3000, 20)
    one, three = (sum_kernel(X, V, [0.3, 2.0], n_threads=n) for n in (1, 3))
    assert np.array_equal(one, three)


@given(st.integers(0, 2**32 - 1), st.integers(1, 40), st.integers(1, 6), st.floats(0.01, 100))
@settings(max_examples=40, deadline=None)
def test_the_order_of_voters_does_not_matter(seed, n, d, bandwidth):
    rng = np.random.default_rng(seed)
    V, weights, order = rng.normal(size=(n, d)), rng.random(n), rng.permutation(n)
    straight, shuffled = (sum_kernel(V, V[o], [bandwidth], weights[o]) for o in (np.arange(n), order))
    np.testing.assert_allclose(straight, shuffled, rtol=1e-5, atol=1e-9)


def test_a_narrow_kernel_is_exact_far_from_the_origin(rng):
    X = 1000 + 0.001 * draw(rng, 12, 5)
    np.testing.assert_allclose(sum_kernel(X, X, [0.001]), sum_kernel_slow(X, X, [0.001]), rtol=1e-3)


def test_a_kept_kernel_multiplies_as_the_plain_sum(rng):
    X, bags, weights = draw(rng, 40, 5), np.arange(40) // 3, rng.random(40)
    product = multiply_kernel(fill_kernel(X, X, 0.8, bags, bags), weights)
    np.testing.assert_allclose(product, sum_kernel_slow(X, X, [0.8], weights, bags, bags)[0], rtol=2e-5)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_what_is_not_finite_is_refused_by_name_and_row(rng, bad):
    X = draw(rng, 5, 3)
    V = X.copy()
    V[3, 1] = bad
    with pytest.raises(BadInputError, match=r"voters .* row 3"):
        sum_kernel(X, V, [1.0])
    with pytest.raises(BadInputError, match=r"queries .* row 3"):
        search_neighbours(V, X, 2)


def test_a_query_alone_gets_the_sum_it_gets_among_others(rng):
    queries, voters = rng.normal(size=(40, 5)), rng.normal(size=(100, 5))
    together = sum_kernel(queries, voters, [1.5])[0]
    alone = [sum_kernel(row[None], voters, [1.5])[0, 0] for row in queries]
    np.testing.assert_allclose(alone, together, rtol=1e-7)
