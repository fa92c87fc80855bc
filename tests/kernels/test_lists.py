"""Voters in lists: what is estimated from them, written plainly."""

import numpy as np
import pytest

from segvote.kernels import lists
from segvote.kernels.workspace import MEMORY


@pytest.fixture
def points():
    rng = np.random.default_rng(1)
    spread = np.linspace(2, 0.1, 30)
    return (rng.normal(size=(900, 30)) * spread + 5).astype(np.float32)


def test_every_voter_is_in_one_list(points):
    made = lists.make_lists(points, MEMORY)
    assert np.array_equal(np.sort(made.numbers.array), np.arange(900))
    assert made.sizes.sum() == 900
    assert (made.sizes > 0).all()
    homes = made.get_homes()
    for number in range(len(made.sizes)):
        start, stop = made.starts.array[number : number + 2]
        assert (homes[made.numbers.array[start:stop]] == number).all()


@pytest.mark.parametrize("n_components", [7, 192])
def test_products_are_estimates_by_components_and_lengths(points, monkeypatch, n_components):
    monkeypatch.setattr(lists, "N_COMPONENTS", n_components)
    made = lists.make_lists(points, MEMORY)
    asked, lengths = made.ask(points[:20])
    found = asked @ made.codes.array.T + lengths[:, None]
    centred = points - points.mean(axis=0)
    parts = centred @ made.axes.array
    for query in range(20):
        for row, voter in enumerate(made.numbers.array[:50]):
            true = (centred[query] ** 2).sum() + (centred[voter] ** 2).sum() - 2 * parts[query] @ parts[voter]
            assert found[query, row] == pytest.approx(true, abs=1e-3)


def test_with_all_components_estimates_are_the_distances(points):
    made = lists.make_lists(points, MEMORY)
    asked, lengths = made.ask(points[:5])
    found = asked @ made.codes.array.T + lengths[:, None]
    true = ((points[:5, None] - points[made.numbers.array]) ** 2).sum(axis=-1)
    np.testing.assert_allclose(found, true, atol=1e-3)


def test_a_list_is_rated_by_its_mean_and_half_of_its_spread(points):
    made = lists.make_lists(points, MEMORY)
    asked, lengths = made.ask(points[:5])
    rates = made.rate(asked) + lengths
    for number in range(len(made.sizes)):
        start, stop = made.starts.array[number : number + 2]
        members = points[made.numbers.array[start:stop]]
        mean = members.mean(axis=0)
        spread = ((members - mean) ** 2).sum(axis=1).mean()
        expected = ((points[:5] - mean) ** 2).sum(axis=1) + spread / 2
        np.testing.assert_allclose(rates[number], expected, atol=1e-3)


def test_lists_are_ranked_by_how_far_they_are_from_one(points):
    made = lists.make_lists(points, MEMORY)
    asked = np.zeros((1, made.codes.array.shape[1]), dtype=np.float32)
    asked[0, :-2], asked[0, -2] = -made.means.array[3, :-1] / 2, 1
    assert np.array_equal(made.rank(3), np.argsort(made.rate(asked)[:, 0], kind="stable"))


def test_float64_points_keep_their_last_digits():
    points = 1e8 + np.random.default_rng(0).normal(size=(50, 3))
    centred = lists.centre_points(points, points.mean(axis=0))
    assert centred.dtype == np.float32
    np.testing.assert_allclose(centred, points - points.mean(axis=0), atol=1e-6)
