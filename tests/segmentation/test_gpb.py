"""The gpb segmenter separates textures of one colour."""

import numpy as np

from segvote.segmentation.gpb import load_model, measure_contrasts, segment_gpb
from segvote.segmentation.hierarchy import cut_tree


def make_two_textures():
    """Stripes down on the left, across on the right, of equal mean colour."""
    y, x = np.mgrid[:80, :120]
    stripes = np.where(x < 60, np.sin(x * np.pi / 3), np.sin(y * np.pi / 3))
    return np.repeat((128 + 50 * stripes).astype(np.uint8)[..., None], 3, axis=2)


def test_texture_contrast_is_highest_where_textures_meet():
    contrasts = measure_contrasts(make_two_textures(), load_model().textons)
    texture = contrasts.coarse[0, :, :, 7].mean(axis=0)  # radius 10, direction 0
    assert abs(int(texture[5:-5].argmax()) + 5 - 30) <= 2


def test_two_textures_of_one_colour_are_told_apart():
    result = segment_gpb(make_two_textures(), 50)
    halves = cut_tree(result.parents, result.altitudes, 2)[result.labels]
    truth = np.repeat((np.arange(120) >= 60)[None], 80, axis=0)
    assert max((halves == truth).mean(), (halves != truth).mean()) > 0.9
