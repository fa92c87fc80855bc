"""Sampled sums of kernels against all pairs: as far off as they say."""

import numpy as np
import pytest

from segvote.kernels import SampledKernel, sampled, sum_kernel


@pytest.fixture(scope="module")
def clustered():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 20))[rng.integers(30, size=2500)] + 0.5 * rng.normal(size=(2500, 20))
    return X.astype(np.float32), np.arange(2500) // 25, rng.random(2500)


@pytest.mark.parametrize("bandwidth", [1.0, 2.0, 5.0])
@pytest.mark.parametrize("has_bags", [False, True])
def test_the_sums_of_all_pairs_lie_within_the_stated_error(bandwidth, has_bags, clustered):
    X, bags, weights = clustered
    bags = bags if has_bags else None
    exact = sum_kernel(X, X, [bandwidth], weights, bags, bags)[0]
    kernel = SampledKernel(X, X, bandwidth, bags, bags, n_sampled=300)
    gaps, errors = kernel.multiply(weights) - exact, kernel.measure_error(weights)
    far = np.abs(gaps) / errors
    assert (far < 2).mean() > 0.95
    assert far.max() < 5


def test_a_narrow_kernel_is_its_near_voters(clustered):
    X, _, weights = clustered
    kernel, exact = SampledKernel(X, X, 0.3, n_sampled=300), sum_kernel(X, X, [0.3], weights)[0]
    np.testing.assert_allclose(kernel.multiply(weights), exact, rtol=1e-4)
    assert (kernel.measure_error(weights) < 1e-4 * exact).all()


def test_the_stated_error_bounds_that_of_many_samples(clustered):
    X, _, weights = clustered
    exact = sum_kernel(X[:200], X, [2.0], weights)[0]
    kernels = [SampledKernel(X[:200], X, 2.0, n_near=8, n_sampled=200, seed=seed) for seed in range(40)]
    gaps = np.array([kernel.multiply(weights) - exact for kernel in kernels])
    stated = np.sqrt(np.mean([kernel.measure_error(weights) ** 2 for kernel in kernels], axis=0))
    found = np.sqrt((gaps**2).mean(axis=0))
    assert 0.4 < np.median(found / stated) < 1.0
    # No side is preferred: the mean of forty is off by a sixth of what one is.
    assert np.abs(gaps.mean(axis=0) / stated).mean() < 0.3


def test_a_sample_of_all_is_exact(clustered):
    X, bags, weights = clustered
    kernel = SampledKernel(X, X, 1.0, bags, bags, n_sampled=len(X))
    np.testing.assert_allclose(kernel.multiply(weights), sum_kernel(X, X, [1.0], weights, bags, bags)[0], rtol=1e-4)
    assert (kernel.measure_error(weights) == 0).all()


def test_strata_and_near_voters_make_the_error_smaller(clustered, monkeypatch):
    X, _, weights = clustered
    arguments = {"n_near": 32, "n_sampled": 300}
    both = SampledKernel(X, X, 2.0, **arguments).measure_error(weights)
    without_near = SampledKernel(X, X, 2.0, **arguments | {"n_near": 1}).measure_error(weights)
    monkeypatch.setattr(sampled, "N_STRATA", 1)
    without_strata = SampledKernel(X, X, 2.0, **arguments).measure_error(weights)
    assert np.median(both) < 0.9 * np.median(without_near)
    assert np.median(both) < 0.9 * np.median(without_strata)


def test_the_same_seed_gives_the_same_sums(clustered):
    X, _, weights = clustered
    first, second, other = (SampledKernel(X, X, 2.0, n_sampled=300, seed=seed).multiply(weights) for seed in (0, 0, 1))
    np.testing.assert_array_equal(first, second)
    assert not np.array_equal(first, other)


def test_a_few_voters_are_all_summed():
    X = np.eye(5, dtype=np.float32)
    kernel = SampledKernel(X, X, 1.0)
    np.testing.assert_allclose(kernel.multiply(np.ones(5)), 1 + 4 * np.exp(-1), rtol=1e-6)
    assert (kernel.measure_error(np.ones(5)) == 0).all()


@pytest.mark.parametrize(("n_queries", "size"), [(10, 4096), (10**5, 1342), (10**7, 256)])
def test_the_sample_is_as_large_as_memory_allows(n_queries, size):
    assert sampled._choose_size(n_queries) == size
