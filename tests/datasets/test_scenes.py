"""Synthetic scenes: cutouts, sprites, areas and masks, and the same bytes for the same seed."""

import socket

import numpy as np
import pytest
from PIL import Image
from scipy import ndimage

from segvote.datasets.cutouts import OBJECTS, Cutout, open_bundled
from segvote.datasets.scenes import make_scenes, transform, write_scenes
from segvote.errors import BadInputError, UnknownNameError


def test_scenes_have_the_shapes_labels_and_masks_they_promise():
    scenes = list(make_scenes(3, 2, size=(160, 120)))
    assert [scene.bag_label for scene in scenes] == ["with"] * 3 + ["without"] * 2
    assert len({scene.name for scene in scenes}) == 5
    for scene in scenes:
        assert scene.image.shape == (120, 160, 3) and scene.image.dtype == np.uint8
        assert scene.mask.shape == (120, 160) and scene.mask.dtype == np.bool_
        assert scene.mask.any() == (scene.bag_label == "with")


def test_a_scene_does_not_depend_on_the_number_of_others():
    few, many = list(make_scenes(2, 1, seed=4)), list(make_scenes(4, 3, seed=4))
    assert np.array_equal(few[1].image, many[1].image)
    assert np.array_equal(few[2].image, many[4].image)
    assert not np.array_equal(few[0].image, next(make_scenes(1, 0, seed=5)).image)


def test_no_network_is_touched(monkeypatch):
    def refuse(*_args, **_kwargs):
        raise AssertionError("synthetic scenes must not open a socket")

    monkeypatch.setattr(socket, "socket", refuse)
    open_bundled.cache_clear()
    for cut in OBJECTS.values():
        cut.cache_clear()
    assert len(list(make_scenes(2, 2, size=(80, 60)))) == 4


def test_the_mask_is_where_the_object_is():
    # The cup is much redder than its surroundings in a scene without colour in the ground.
    for scene in make_scenes(4, 0, seed=1):
        redness = scene.image[..., 0].astype(float) - scene.image[..., 1:].mean(axis=2)
        assert redness[scene.mask].mean() > redness[~scene.mask].mean() + 15


@pytest.mark.parametrize("object_area", [(0.02, 0.03), (0.2, 0.25)])
def test_the_object_has_the_area_asked_for(object_area):
    for scene in make_scenes(4, 0, object_area=object_area):
        # A neighbour may lie over a part of it.
        assert 0.7 * object_area[0] < scene.mask.mean() < 1.1 * object_area[1]


def test_written_scenes_have_the_neutral_layout(tmp_path):
    write_scenes(tmp_path, make_scenes(2, 1, size=(80, 60)))
    names = sorted(str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*.png"))
    assert names == [
        "masks/with-000.png",
        "masks/with-001.png",
        "with/with-000.png",
        "with/with-001.png",
        "without/without-000.png",
    ]
    scene = next(make_scenes(1, 0, size=(80, 60)))
    assert np.array_equal(np.asarray(Image.open(tmp_path / "with/with-000.png")), scene.image)
    assert np.array_equal(np.asarray(Image.open(tmp_path / "masks/with-000.png")) == 255, scene.mask)


@pytest.mark.parametrize(
    ("style", "error"),
    [
        ({"size": (20, 90)}, BadInputError),
        ({"object_area": (0.3, 0.1)}, BadInputError),
        ({"target": "hat"}, UnknownNameError),
    ],
)
def test_a_bad_style_is_an_error(style, error):
    with pytest.raises(error):
        next(make_scenes(1, 0, **style))


def make_disc(size=60, colour=(1.0, 0.0, 0.0)):
    y, x = np.mgrid[:size, :size] - (size - 1) / 2
    alpha = (np.hypot(x, y) < size / 2).astype(np.float32)
    return Cutout(np.broadcast_to(np.float32(colour), (size, size, 3)).copy(), alpha)


@pytest.mark.parametrize("angle", [0, 33, 90, -120])
@pytest.mark.parametrize("area", [300, 900, 8000])
def test_area_is_that_asked_for_at_any_angle(area, angle):
    sprite = transform(make_disc(), area, angle)
    assert sprite.alpha.sum() == pytest.approx(area, rel=0.06)
    assert sprite.image[sprite.alpha > 0.5].min(axis=0)[0] > 0.99  # red up to its edge: no old background


@pytest.mark.parametrize("name", OBJECTS)
def test_every_object_is_one_piece_with_its_box_filled(name):
    for cutout in OBJECTS[name]():
        assert cutout.image.shape == (*cutout.alpha.shape, 3)
        assert cutout.image.dtype == cutout.alpha.dtype == np.float32
        assert cutout.image.min() >= 0 and cutout.image.max() <= 1
        assert ndimage.label(cutout.alpha > 0.5)[1] == 1
        assert all(edge.any() for edge in (*cutout.alpha[[0, -1]], *cutout.alpha.T[[0, -1]]))
