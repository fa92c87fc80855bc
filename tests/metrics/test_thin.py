"""Precision, recall and F within a tolerance, against the definition and on lines one can draw by hand."""

import numpy as np
import pytest

from segvote.errors import BadInputError
from segvote.metrics import has_outline, measure_pixel_agreement


def make_line(row, stop=40):
    mask = np.zeros((40, 40), dtype=bool)
    mask[row, :stop] = True
    return mask


def measure_slowly(mask, truth, tolerance):
    found, wanted = np.argwhere(mask & (truth != 128)), np.argwhere(truth == 255)
    near = np.linalg.norm(found[:, None] - wanted[None], axis=-1) <= tolerance
    return near.any(axis=1).mean(), near.any(axis=0).mean()


@pytest.mark.parametrize("tolerance", [0, 1, 2.5])
def test_agreement_equals_the_slow_way(tolerance):
    rng = np.random.default_rng(0)
    mask, truth = rng.random((20, 25)) < 0.1, rng.choice([0, 128, 255], (20, 25), p=[0.8, 0.1, 0.1]).astype(np.uint8)
    found = measure_pixel_agreement(mask, truth, tolerance)
    precision, recall = measure_slowly(mask, truth, tolerance)
    assert (found.precision, found.recall) == pytest.approx((precision, recall))
    assert found.f == pytest.approx(2 * precision * recall / (precision + recall))


def test_a_line_two_pixels_aside_agrees_and_three_does_not():
    assert measure_pixel_agreement(make_line(10), make_line(12)).f == 1
    assert measure_pixel_agreement(make_line(10), make_line(13)).f == 0


def test_half_of_a_line_has_half_the_recall():
    found = measure_pixel_agreement(make_line(10, 18), make_line(10))
    assert (found.precision, found.recall) == (1, 0.5)


def test_empty_masks():
    empty = np.zeros((40, 40), dtype=bool)
    assert measure_pixel_agreement(empty, empty).f == 1
    assert measure_pixel_agreement(make_line(3), empty).f == measure_pixel_agreement(empty, make_line(3)).f == 0


def test_sizes_that_differ_are_refused():
    with pytest.raises(BadInputError, match="one size"):
        measure_pixel_agreement(np.zeros((3, 4)), np.zeros((4, 3), bool))


def test_an_ignored_rim_leaves_the_outline_open():
    truth = np.zeros((20, 20), dtype=np.uint8)
    truth[4:16, 4:16], truth[6:14, 6:14] = 128, 255
    assert not has_outline(truth)
    truth[4:6] = 0
    assert has_outline(truth) and has_outline(np.zeros((5, 5), bool))
