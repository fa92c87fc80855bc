import numpy as np
import pytest

from segvote.errors import BadInputError
from segvote.features import Standardiser, fit_standardiser

BLOCKS = (3, 2)


@pytest.fixture
def shards():
    rng = np.random.default_rng(0)
    return [(rng.normal(size=(n, 5)) * [1, 5, 0.1, 1, 2] + 100).astype(np.float32) for n in (4, 1, 0, 30, 7)]


def test_moments_equal_those_of_all_rows_at_once(shards):
    rows = np.vstack(shards).astype(np.float64)
    fitted = fit_standardiser(shards, BLOCKS)
    np.testing.assert_allclose(fitted.mean, rows.mean(axis=0), rtol=1e-12)
    np.testing.assert_allclose(fitted.std, rows.std(axis=0), rtol=1e-9)


def test_each_block_has_its_own_flag(shards):
    fitted = fit_standardiser(shards, BLOCKS, (False, True))
    assert fitted.mean[:3].tolist() == [0, 0, 0]
    assert (fitted.mean[3:] > 90).all()
    rows = shards[0]
    np.testing.assert_allclose(
        fitted.apply(rows)[:, :3], rows[:, :3] / np.linalg.norm(rows[:, :3], axis=1)[:, None], rtol=1e-6
    )


def test_a_channel_that_never_changes_becomes_zero():
    value = np.float32(0.1)  # not exact in binary: sums of it are rounded
    shards = [np.column_stack([np.full(n, value), np.arange(n), -np.arange(n)]).astype(np.float32) for n in (7, 11)]
    scaled = fit_standardiser(shards, (3,)).apply(shards[1])
    assert not scaled[:, 0].any()
    assert scaled[:, 1].any()


def test_the_state_gives_the_same_standardiser(shards):
    fitted = fit_standardiser(shards, BLOCKS, (True, False))
    again = Standardiser.from_state(fitted.get_state())
    np.testing.assert_array_equal(again.apply(shards[3]), fitted.apply(shards[3]))
    assert again.blocks == fitted.blocks


def test_other_dimensions_are_refused(shards):
    with pytest.raises(BadInputError, match="5 dimensions"):
        fit_standardiser(shards, BLOCKS).apply(np.zeros((2, 4)))


def test_lengths_may_be_kept(shards):
    plain, long = (fit_standardiser(shards, BLOCKS, has_lengths=kept) for kept in (False, True))
    X = np.vstack(shards).astype(np.float64)
    np.testing.assert_allclose(long.apply(X), (X - X.mean(axis=0)) / X.std(axis=0), rtol=1e-4, atol=1e-5)
    for block in np.s_[:3, 3:]:
        unit = long.apply(X)[:, block] / np.linalg.norm(long.apply(X)[:, block], axis=1, keepdims=True)
        np.testing.assert_allclose(plain.apply(X)[:, block], unit, rtol=1e-5, atol=1e-6)
