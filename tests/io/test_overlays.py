"""Overlays: the quick ways against the plain formulas."""

import cv2
import numpy as np

from segvote.io.overlays import GLOW, OUTLINE, RAMP, SHADOW, blend_heat, blend_mask, count_degrees, paint_heat


def make_picture():
    rng = np.random.default_rng(0)
    return rng.integers(0, 256, (40, 60, 3)).astype(np.uint8), rng.random((40, 60)).astype(np.float32)


def test_heat_is_the_shaded_colour_of_its_degree():
    image, heat = make_picture()
    light = cv2.cvtColor(image, cv2.COLOR_RGB2GRAY)
    share, degrees = (light / np.float32(255))[..., None], count_degrees(heat)
    cold = 1 - (degrees / np.float32(255))[..., None]
    plain = RAMP[degrees] * (SHADOW + (1 - SHADOW) * share) + GLOW * share * cold
    np.testing.assert_array_equal(paint_heat(light, degrees), np.clip(plain, 0, 255).astype(np.uint8))
    np.testing.assert_array_equal(blend_heat(image, heat), paint_heat(light, degrees))


def test_all_but_the_mask_and_its_outline_is_darkened():
    image, heat = make_picture()
    mask = cv2.blur(heat, (9, 9)) > 0.5
    shown, before = blend_mask(image, mask), image.copy()
    plain = np.where(mask[..., None], image, (image * 0.25 + 20).astype(np.uint8))
    on_outline = (shown == OUTLINE).all(axis=2)
    assert np.array_equal(shown[~on_outline], plain[~on_outline])
    assert mask[on_outline].all()
    assert np.array_equal(image, before)
