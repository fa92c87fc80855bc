import numpy as np
import pytest

from segvote.datasets.composing import GROUNDS, Sprite, develop, paint_ground, paint_sprite, recolour, transform
from segvote.datasets.cutouts import OBJECTS, Cutout


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def make_disc(size=60, colour=(1.0, 0.0, 0.0)):
    y, x = np.mgrid[:size, :size] - (size - 1) / 2
    alpha = (np.hypot(x, y) < size / 2).astype(np.float32)
    return Cutout(np.broadcast_to(np.float32(colour), (size, size, 3)).copy(), alpha)


@pytest.mark.parametrize("name", GROUNDS)
def test_grounds_fill_the_scene(name, rng):
    ground = paint_ground([name], 90, 140, rng)
    assert ground.shape == (90, 140, 3) and ground.dtype == np.float32
    assert ground.min() >= 0 and ground.max() <= 1 and ground.std() > 0.02


def test_a_second_ground_covers_a_part(rng):
    one = paint_ground(["grass"], 120, 160, np.random.default_rng(5))
    two = paint_ground(["grass", "sand"], 120, 160, np.random.default_rng(5))
    same = np.all(one == two, axis=2).mean()
    assert 0.02 < same < 0.98


@pytest.mark.parametrize("angle", [0, 33, 90, -120])
@pytest.mark.parametrize("area", [300, 900, 8000])
def test_area_is_that_asked_for_at_any_angle(area, angle):
    sprite = transform(make_disc(), area, angle)
    assert sprite.alpha.sum() == pytest.approx(area, rel=0.06)
    assert sprite.image[sprite.alpha > 0.5].min(axis=0)[0] > 0.99  # red up to its edge: no old background


def test_turning_hues_by_a_third_makes_red_green():
    assert recolour(make_disc(), 120).image[30, 30] == pytest.approx([0, 1, 0], abs=1e-5)
    assert recolour(make_disc(), 0, strength=0).image[30, 30] == pytest.approx([1, 1, 1], abs=1e-5)


def test_what_sticks_out_is_cut_off():
    sprite = Sprite(np.ones((10, 10, 3), np.float32), np.ones((10, 10), np.float32), top=-4, left=15)
    image, alpha = sprite.spread(20, 20)
    assert alpha.sum() == 6 * 5 and alpha[:6, 15:].all()
    assert image.sum() == 3 * 6 * 5
    outside = Sprite(sprite.image, sprite.alpha, top=30, left=0)
    assert outside.spread(20, 20)[1].sum() == 0


def test_a_sprite_hides_the_ground_and_casts_a_shadow():
    scene = np.full((60, 60, 3), 0.8, np.float32)
    sprite = Sprite(np.full((20, 20, 3), 0.5, np.float32), np.ones((20, 20), np.float32), top=20, left=20)
    painted, alpha = paint_sprite(scene, sprite, np.array([6.0, 0.0]))
    assert np.all(painted[20:40, 20:40] == 0.5) and alpha.sum() == 400
    assert painted[42, 30, 0] < 0.6 < painted[15, 30, 0]


def test_light_and_grain_keep_shape_and_give_bytes(rng):
    image = develop(np.full((40, 50, 3), 0.5), rng)
    assert image.shape == (40, 50, 3) and image.dtype == np.uint8 and image.std() > 1


def test_inputs_are_not_modified(rng):
    cup = OBJECTS["cup"]()[0]
    before = cup.image.copy()
    recolour(cup, 50)
    transform(cup, 500, 20, flip=True)
    assert np.array_equal(cup.image, before)
