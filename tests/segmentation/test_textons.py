"""Textons: balanced filters, nearest centres."""

import numpy as np

from segvote.segmentation.textons import N_FILTERS, assign_textons, filter_texture, make_filters


def test_filters_ignore_brightness_and_have_one_size():
    for kernel in make_filters():
        assert abs(kernel.sum()) < 1e-5
        assert abs(np.abs(kernel).sum() - 1) < 1e-5


def test_the_texton_is_the_nearest_centre():
    rng = np.random.default_rng(0)
    lightness = (100 * rng.random((12, 13))).astype(np.float32)
    centres = rng.normal(size=(5, N_FILTERS)).astype(np.float32)
    responses = filter_texture(lightness)
    distances = np.linalg.norm(responses[:, :, None] - centres, axis=-1)
    np.testing.assert_array_equal(assign_textons(lightness, centres), distances.argmin(axis=2))


def test_stripes_answer_to_the_filter_across_them():
    stripes = np.repeat(50 + 40 * np.sin(np.arange(40) * np.pi / 4)[None], 40, axis=0).astype(np.float32)
    strengths = np.abs(filter_texture(stripes)[10:30, 10:30, :16:2]).mean(axis=(0, 1))
    assert strengths.argmax() == 0 and strengths[4] < strengths[0] / 10


def test_a_flat_picture_answers_nothing():
    assert np.abs(filter_texture(np.full((9, 9), 60, np.float32))).max() < 1e-3
