"""Outlines at the resolution of the photograph: basins against a walk downhill, and shapes with known outlines."""

import numpy as np
import pytest

from segvote.kernels.pixels import convert_to_lab, resize_labels
from segvote.masks.outline import REACH, find_band, find_basins, measure_signed_distance, refine_outline


def make_disc(side, radius):
    y, x = np.mgrid[:side, :side] - (side - 1) / 2
    return np.hypot(x, y) < radius


def make_picture(mask, noise=6):
    rng = np.random.default_rng(0)
    colours = np.where(mask[..., None], (180, 60, 50), (70, 110, 160)) + rng.normal(0, noise, (*mask.shape, 3))
    return convert_to_lab(colours.clip(0, 255).astype(np.uint8))


def test_outline_follows_the_photograph_not_the_coarse_pixels():
    truth = make_disc(400, 120.0)
    coarse = resize_labels(make_disc(400, 125.0), (100, 100))
    found = refine_outline(make_picture(truth), coarse)
    enlarged = resize_labels(coarse, (400, 400))
    assert (found != truth).sum() < 0.2 * (enlarged != truth).sum()


def test_pixels_outside_of_the_band_keep_the_coarse_decision():
    coarse = make_disc(100, 30.0)
    found = refine_outline(make_picture(make_disc(400, 60.0)), coarse)
    far = np.abs(measure_signed_distance(coarse)) > REACH + 1
    far = resize_labels(far, (400, 400))
    assert np.array_equal(found[far], resize_labels(coarse, (400, 400))[far])


@pytest.mark.parametrize("value", [True, False])
def test_full_and_empty_masks_stay(value):
    coarse = np.full((30, 40), value)
    assert (refine_outline(make_picture(np.zeros((60, 80), bool)), coarse) == value).all()


def test_signed_distance_changes_sign_at_the_outline():
    mask = np.zeros((5, 9), dtype=bool)
    mask[:, 4:] = True
    assert measure_signed_distance(mask)[2].tolist() == pytest.approx([-3.5, -2.5, -1.5, -0.5, 0.5, 1.5, 2.5, 3.5, 4.5])


def walk_down(gradient, near, place):
    """The minimum that the steepest way down from a pixel ends in; of equals the first in reading order."""
    while True:
        y, x = place
        around = [(y, x), (y - 1, x), (y, x - 1), (y, x + 1), (y + 1, x)]
        inside = [p for p in around if 0 <= p[0] < near.shape[0] and 0 <= p[1] < near.shape[1] and near[p]]
        best = min(inside, key=lambda p: (gradient[p], p))
        if best == place:
            return place
        place = best


@pytest.mark.parametrize("seed", range(5))
def test_basins_are_those_of_a_walk_downhill(seed):
    rng = np.random.default_rng(seed)
    gradient, near = rng.integers(0, 4, (9, 11)).astype(np.float32), rng.random((9, 11)) < 0.7
    band = find_band(gradient, near)
    ends = [walk_down(gradient, near, tuple(place)) for place in np.argwhere(near).tolist()]
    ends = [tuple(end) for end in ends]
    numbers = {end: number for number, end in enumerate(sorted(set(ends)))}
    assert band.basins.tolist() == [numbers[end] for end in ends]


def test_edges_count_shared_boundary():
    gradient = np.array([[0.0, 1.0, 5.0, 1.0, 0.0]] * 2, dtype=np.float32)
    gradient[1] += 0.5
    band = find_band(gradient, np.ones((2, 5), dtype=bool))
    assert band.edges.tolist() == [[0, 1]] and band.lengths.tolist() == [2]


def test_a_pixel_alone_is_a_basin():
    assert find_basins(np.array([3.0]), np.full((4, 1), -1)).tolist() == [0]
