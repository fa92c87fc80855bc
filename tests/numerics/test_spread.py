"""Evenly spaced samples."""

import numpy as np
import pytest

from segvote.numerics.spread import spread_evenly


@pytest.mark.parametrize(("n_items", "n_wanted"), [(0, 3), (1, 3), (7, 7), (5, 9)])
def test_few_items_are_all_taken(n_items, n_wanted):
    np.testing.assert_array_equal(spread_evenly(n_items, n_wanted), np.arange(n_items))


@pytest.mark.parametrize(("n_items", "n_wanted"), [(100, 2), (100, 7), (1000, 999)])
def test_first_and_last_item_are_taken_and_steps_are_even(n_items, n_wanted):
    places = spread_evenly(n_items, n_wanted)
    assert len(places) == n_wanted and places[0] == 0 and places[-1] == n_items - 1
    assert np.ptp(np.diff(places)) <= 1
