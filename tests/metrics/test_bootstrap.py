import numpy as np
import pytest
from scipy import stats

from segvote.errors import BadInputError
from segvote.metrics import bootstrap_difference, bootstrap_mean


@pytest.fixture
def values():
    return np.random.default_rng(0).normal(0.6, 0.2, size=150)


def test_intervals_are_scipys_and_a_single_image_has_one(values):
    for figures in (values, (values > 0.5).astype(float)):
        drawn = stats.bootstrap(
            (figures,), np.mean, method="percentile", rng=np.random.default_rng(0), n_resamples=4000
        )
        interval = bootstrap_mean(figures, n_rounds=4000)
        assert (interval.low, interval.high) == pytest.approx(tuple(drawn.confidence_interval), abs=1e-12)
    alone = bootstrap_mean([0.4])
    assert alone.low == alone.high == pytest.approx(0.4)


def test_pairing_finds_a_small_steady_difference(values):
    noise = np.random.default_rng(1).normal(0, 0.01, size=len(values))
    difference = bootstrap_difference(values + 0.02 + noise, values)
    assert difference.low > 0 and difference.p_value == pytest.approx(2 / 2001)


def test_no_difference_is_not_found():
    rng = np.random.default_rng(0)
    difference = bootstrap_difference(rng.normal(size=100), rng.normal(size=100))
    assert difference.low < 0 < difference.high and difference.p_value > 0.05
    assert bootstrap_difference([1, 2, 3], [1, 2, 3]).p_value == 1.0


@pytest.mark.parametrize("bad", [[], [[1, 2]], [1, np.nan]])
def test_bad_values_are_an_error(bad):
    with pytest.raises(BadInputError, match="per image"):
        bootstrap_mean(bad)


def test_unequal_numbers_of_images_are_an_error():
    with pytest.raises(BadInputError, match="same images"):
        bootstrap_difference([1, 2], [1])
