"""What moves with the ground is a little less likely to be the thing."""

import numpy as np

from segvote.method.motion import prefer_moving


def test_the_prior_grows_with_motion_from_the_factor_to_one():
    survival = prefer_moving(np.linspace(0, 1, 50), 0.8)
    assert survival[0] == 0.8 and survival[-1] == 1
    assert (np.diff(survival) >= 0).all()


def test_a_slow_thing_counts_like_a_fast_one():
    distinct = np.linspace(0, 1, 50)
    np.testing.assert_allclose(prefer_moving(0.2 * distinct), prefer_moving(distinct))


def test_where_nothing_moves_nothing_is_suspected():
    np.testing.assert_array_equal(prefer_moving(np.full(10, 0.01)), 1)
    np.testing.assert_array_equal(prefer_moving(np.linspace(0, 1, 9), 1.0), 1)
    assert prefer_moving(np.zeros(0)).shape == (0,)
