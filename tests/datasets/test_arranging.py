import numpy as np
import pytest

from segvote.datasets.arranging import MAX_COVERED, draw_clutter, draw_object, place_inside, place_on_border, scatter
from segvote.datasets.composing import Sprite


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def make_square(side):
    return Sprite(np.ones((side, side, 3), np.float32), np.ones((side, side), np.float32))


def test_inside_means_all_of_it_is_seen(rng):
    for _ in range(50):
        assert place_inside(make_square(15), 30, 40, rng).spread(30, 40)[1].sum() == 225


def test_on_the_border_means_a_part_is_cut_off(rng):
    for _ in range(50):
        alpha = place_on_border(make_square(20), 60, 80, rng).spread(60, 80)[1]
        assert 0.55 < alpha.sum() / 400 < 0.85
        assert alpha[0].any() or alpha[-1].any() or alpha[:, 0].any() or alpha[:, -1].any()


def test_a_object_larger_than_the_image_still_covers_it(rng):
    assert place_inside(make_square(50), 30, 40, rng).spread(30, 40)[1].all()


def test_scattered_objects_hardly_overlap(rng):
    placed = scatter([make_square(12)] * 8, [place_inside(make_square(20), 80, 100, rng)], 80, 100, rng)
    layers = [sprite.spread(80, 100)[1] for sprite in placed]
    for index, layer in enumerate(layers[1:], start=1):
        covered = np.sum(layer * np.maximum.reduce(layers[:index]))
        assert covered <= MAX_COVERED * 144


def test_what_finds_no_room_is_left_out(rng):
    full = [make_square(50)]
    assert len(scatter([make_square(10)] * 3, full, 50, 50, rng)) == 1


def test_clutter_holds_only_the_kinds_allowed(rng):
    only_cards = draw_clutter([], 320 * 240, rng)
    assert 3 <= len(only_cards) <= 5
    assert all(np.isclose(sprite.alpha.max(), 1) for sprite in only_cards)


def test_appearances_differ_in_hue():
    def measure_hues(appearances):
        rng = np.random.default_rng(0)
        sprites = [draw_object("flower", 900, appearances, rng) for _ in range(12)]
        return np.array([sprite.image[sprite.alpha > 0.9].mean(axis=0) for sprite in sprites])

    assert np.ptp(measure_hues(4), axis=0).max() > 3 * np.ptp(measure_hues(1), axis=0).max()
