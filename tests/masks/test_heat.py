"""The scale of heat maps."""

import numpy as np

from segvote.masks import scale_heat

SCORES = np.array([-1.0, 0.0, 1.0, 2.0, 3.0])


def test_the_threshold_is_one_half_of_the_scale():
    np.testing.assert_allclose(scale_heat(SCORES, 1.0, -1.0, 3.0), [0, 0.25, 0.5, 0.75, 1])


def test_an_image_has_its_own_scale_up_to_its_highest_score():
    np.testing.assert_array_equal(scale_heat(SCORES, 1.0, -1.0), scale_heat(SCORES, 1.0, -1.0, 3.0))


def test_scores_beyond_the_scale_have_its_ends():
    np.testing.assert_array_equal(scale_heat(SCORES, 1.0, 0.0, 2.0), [0, 0, 0.5, 1, 1])
