"""Specks and pinholes, on masks that can be drawn by hand."""

import numpy as np
import pytest
from scipy import ndimage

from segvote.masks.pieces import SPECK_SHARE, fill_holes, find_typical, measure_pieces, remove_specks


@pytest.fixture
def mask():
    """(100, 100) bool: a square of 1,600 pixels with a hole of 4 and one of 100, two specks, and a piece of 64."""
    drawn = np.zeros((100, 100), dtype=bool)
    drawn[10:50, 10:50] = True
    drawn[20:22, 20:22] = False
    drawn[30:40, 30:40] = False
    drawn[80:82, 5:7] = drawn[90, 90] = True
    drawn[70:78, 60:68] = True
    return drawn


def remove_plainly(mask, typical):
    """The rule as it is written in the documentation, one component at a time."""
    pieces, n_pieces = ndimage.label(mask, np.ones((3, 3)))
    areas = [(pieces == number).sum() for number in range(1, n_pieces + 1)]
    limit = SPECK_SHARE * min(typical * mask.size, max(areas))
    kept = np.isin(pieces, [number for number, area in enumerate(areas, start=1) if area >= limit])
    gaps, n_gaps = ndimage.label(~kept)
    edge = np.concatenate([gaps[0], gaps[-1], gaps[:, 0], gaps[:, -1]])
    for number in range(1, n_gaps + 1):
        if (gaps == number).sum() < limit and number not in edge:
            kept = kept | (gaps == number)
    return kept


def test_specks_go_and_pinholes_are_filled(mask):
    clean = remove_specks(mask, typical=0.16)
    assert not clean[80:82, 5:7].any() and not clean[90, 90]
    assert clean[20:22, 20:22].all()
    assert not clean[30:40, 30:40].any() and clean[70:78, 60:68].all()


def test_random_masks_follow_the_plain_rule():
    rng = np.random.default_rng(0)
    for typical in (0.0, 0.01, 0.1, 0.5):
        noise = ndimage.gaussian_filter(rng.normal(size=(80, 90)), 2)
        for level in (-0.05, 0.0, 0.08):
            assert np.array_equal(remove_specks(noise > level, typical), remove_plainly(noise > level, typical))


def test_small_objects_of_the_run_stay_beside_a_large_one(mask):
    # Where half of the object lies in pieces of 4 pixels, a piece of 4 pixels is an object.
    assert np.array_equal(remove_specks(mask, typical=4 / mask.size), mask)


def test_the_largest_piece_of_an_image_always_stays():
    small = np.zeros((50, 50), dtype=bool)
    small[4, 4] = True
    assert np.array_equal(remove_specks(small, typical=0.9), small)


def test_without_a_typical_piece_nothing_changes(mask):
    assert np.array_equal(remove_specks(mask, 0.0), mask)
    empty = np.zeros_like(mask)
    assert np.array_equal(remove_specks(empty, 0.5), empty)


def test_a_gap_on_the_edge_is_no_hole():
    mask = np.ones((10, 10), dtype=bool)
    mask[0, 4] = mask[5, 5] = False
    filled = fill_holes(mask, 3)
    assert filled[5, 5] and not filled[0, 4]


def test_half_of_the_object_lies_in_pieces_up_to_the_typical(mask):
    shares = measure_pieces(mask)
    assert sorted((shares * mask.size).round().astype(int)) == [1, 4, 64, 1496]
    typical = find_typical(shares)
    assert shares[shares <= typical].sum() >= shares.sum() / 2 > shares[shares < typical].sum()
    assert find_typical(np.array([])) == 0
