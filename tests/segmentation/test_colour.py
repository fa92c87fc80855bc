"""Lab colours agree with scikit-image's, gradients with numpy's."""

import numpy as np
from skimage.color import rgb2lab

from segvote.numerics.pixels import convert_to_lab, measure_gradient


def test_lab_colours_agree_with_another_implementation():
    image = np.random.default_rng(0).integers(0, 256, (20, 30, 3), dtype=np.uint8)
    # OpenCV interpolates a table in the cube root; half a unit is far below what an eye sees.
    np.testing.assert_allclose(convert_to_lab(image), rgb2lab(image), atol=0.5)


def test_the_gradient_sums_the_squared_slopes_of_all_channels():
    colour = np.random.default_rng(0).normal(size=(7, 9, 3)).astype(np.float32)
    down, across = np.gradient(colour, axis=(0, 1))
    expected = np.sqrt((down**2 + across**2).sum(axis=2))
    np.testing.assert_allclose(measure_gradient(colour)[1:-1, 1:-1], expected[1:-1, 1:-1], rtol=1e-5)
