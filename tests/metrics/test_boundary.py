"""Boundary F and agreement of thin pixels, against plain formulas."""

import numpy as np
import pytest

from segvote.metrics import has_outline, measure_boundary_f, measure_pixel_agreement


def make_square(start, stop, size=40):
    mask = np.zeros((size, size), bool)
    mask[start:stop, start:stop] = True
    return mask


def list_boundary(mask, visible):
    """The definition, pixel by pixel."""
    found = []
    for y, x in np.argwhere(mask & visible):
        around = [(y + 1, x), (y - 1, x), (y, x + 1), (y, x - 1)]
        inside_image = [(v, u) for v, u in around if 0 <= v < mask.shape[0] and 0 <= u < mask.shape[1]]
        if any(visible[p] and not mask[p] for p in inside_image):
            found.append((y, x))
    return np.array(found, float)


def measure_slowly(mask, truth, tolerance):
    visible = truth != 128
    found, wanted = list_boundary(mask, visible), list_boundary(truth == 255, visible)
    near = np.linalg.norm(found[:, None] - wanted[None], axis=-1) <= tolerance
    precision, recall = near.any(axis=1).mean(), near.any(axis=0).mean()
    return 2 * precision * recall / (precision + recall)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("tolerance", [0, 1, 1.5])
def test_boundary_f_equals_the_slow_way(seed, tolerance):
    rng = np.random.default_rng(seed)
    mask = rng.random((14, 17)) < 0.5
    truth = rng.choice(np.array([0, 128, 255], np.uint8), (14, 17), p=[0.7, 0.1, 0.2])
    assert measure_boundary_f(mask, truth, tolerance) == pytest.approx(measure_slowly(mask, truth, tolerance))


def test_one_empty_mask_is_zero_and_two_are_one():
    assert measure_boundary_f(make_square(0, 0), make_square(5, 20)) == 0.0
    assert measure_boundary_f(make_square(5, 20), make_square(0, 0)) == 0.0
    assert measure_boundary_f(make_square(0, 0), make_square(0, 0)) == 1.0


def measure_pixels_slowly(mask, truth, tolerance):
    found, wanted = np.argwhere(mask & (truth != 128)), np.argwhere(truth == 255)
    near = np.linalg.norm(found[:, None] - wanted[None], axis=-1) <= tolerance
    return near.any(axis=1).mean(), near.any(axis=0).mean()


@pytest.mark.parametrize("tolerance", [0, 1, 2.5])
def test_agreement_equals_the_slow_way(tolerance):
    rng = np.random.default_rng(0)
    mask, truth = rng.random((20, 25)) < 0.1, rng.choice([0, 128, 255], (20, 25), p=[0.8, 0.1, 0.1]).astype(np.uint8)
    found = measure_pixel_agreement(mask, truth, tolerance)
    precision, recall = measure_pixels_slowly(mask, truth, tolerance)
    assert (found.precision, found.recall) == pytest.approx((precision, recall))
    assert found.f == pytest.approx(2 * precision * recall / (precision + recall))


def test_an_ignored_rim_leaves_the_outline_open():
    truth = np.zeros((20, 20), dtype=np.uint8)
    truth[4:16, 4:16], truth[6:14, 6:14] = 128, 255
    assert not has_outline(truth)
    truth[4:6] = 0
    assert has_outline(truth) and has_outline(np.zeros((5, 5), bool))
