"""Touching objects, on discs and on cut-outs of photographs of coins."""

import cv2
import numpy as np
import pytest
from scipy import ndimage
from skimage import data, filters

from segvote.masks.objects import (
    OBJECTS,
    judge_touching,
    label_objects,
    measure_shapes,
    measure_solidity,
    split_piece,
)


def draw_discs(centres, radius=20, shape=(120, 160)):
    mask = np.zeros(shape, np.uint8)
    for centre in centres:
        cv2.circle(mask, centre, radius, 1, -1)
    return mask > 0


PAIR = draw_discs([(40, 60), (74, 60)])
APART = draw_discs([(40, 60), (100, 60)])


def crop(mask):
    [box] = ndimage.find_objects(mask.astype(int))
    return mask[box]


def make_coins(gap):
    """(h, w) bool and a count: the coins of a photograph in a row, `gap` pixels apart; below 0: touching."""
    photograph = data.coins()
    grey = filters.gaussian(photograph, 1)
    mask = ndimage.binary_opening(ndimage.binary_fill_holes(grey > filters.threshold_local(grey, 151)), iterations=3)
    pieces, _ = ndimage.label(mask)
    crops = [pieces[box] == number for number, box in enumerate(ndimage.find_objects(pieces), start=1)]
    coins = [one for one in crops if 900 < one.sum() < 4000 and measure_solidity(one) > 0.9]
    canvas, left = np.zeros((80, 60 * len(coins)), dtype=bool), 2
    for coin in coins:
        height, width = coin.shape
        canvas[40 - height // 2 : 40 - height // 2 + height, left : left + width] |= coin
        left += width + gap
    return canvas, len(coins)


def test_touching_discs_are_split_at_their_neck():
    parts = label_objects(PAIR, "touching")
    assert parts.max() == 2 and np.array_equal(parts > 0, PAIR)
    assert parts[60, 30] != parts[60, 84]
    areas = np.bincount(parts.ravel())[1:]
    assert areas.max() < 1.1 * areas.min()


@pytest.mark.parametrize(("objects", "count"), [("one", 1), ("pieces", 2), ("touching", 2)])
def test_objects_of_discs_that_are_apart(objects, count):
    labels = label_objects(APART, objects)
    assert labels.max() == count and np.array_equal(labels > 0, APART)


def test_every_kind_labels_the_same_pixels():
    mask = ndimage.gaussian_filter(np.random.default_rng(0).normal(size=(90, 120)), 4) > 0.02
    for objects in OBJECTS.keys() - {"auto"}:
        labels = label_objects(mask, objects)
        assert np.array_equal(labels > 0, mask)
        assert np.array_equal(np.unique(labels), np.arange(labels.max() + 1))


def test_large_pieces_are_split_as_small_ones():
    large = cv2.resize(PAIR.astype(np.uint8), None, fx=9, fy=9, interpolation=cv2.INTER_NEAREST) > 0
    parts = split_piece(crop(large))
    assert parts.max() == 2 and np.array_equal(parts > 0, crop(large))


def test_a_bar_and_a_disc_are_one_object():
    for shape in (np.ones((9, 80), dtype=bool), crop(draw_discs([(60, 60)])), np.ones((1, 1), dtype=bool)):
        assert split_piece(shape).max() == 1


def test_two_equally_deep_pixels_of_a_disc_are_one_core():
    # The distance transform of an ellipse on the grid has several equal maxima.
    for width in range(14, 30):
        disc = np.zeros((60, 80), np.uint8)
        cv2.ellipse(disc, (40, 30), (width, 14), 20, 0, 360, 1, -1)
        assert split_piece(crop(disc > 0)).max() == 1


def test_solidity_is_area_by_that_of_the_hull():
    ell = np.zeros((10, 10), dtype=bool)
    ell[:, :5] = ell[5:] = True
    assert measure_solidity(ell) == pytest.approx(75 / 87.5)
    assert measure_solidity(np.ones((1, 1), dtype=bool)) == 1


def test_real_coins_that_touch_are_counted():
    apart, n_coins = make_coins(4)
    touching, _ = make_coins(-2)
    assert n_coins >= 12
    assert label_objects(apart, "pieces").max() == n_coins
    assert label_objects(touching, "pieces").max() < n_coins / 2
    assert abs(label_objects(touching, "touching").max() - n_coins) <= 1


def test_auto_splits_where_coins_touch_only():
    (apart, _), (touching, _) = make_coins(4), make_coins(-2)
    assert judge_touching([measure_shapes(touching)] * 3)[0]
    assert not judge_touching([measure_shapes(apart)] * 3)[0]
    assert not judge_touching([])[0]


def test_a_single_pair_in_an_image_is_not_split():
    is_touching, reason = judge_touching([measure_shapes(PAIR)])
    assert not is_touching and "too few" in reason
