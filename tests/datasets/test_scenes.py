import socket

import numpy as np
import pytest
from PIL import Image

from segvote.datasets.cutouts import OBJECTS, open_bundled
from segvote.datasets.scenes import SHARED_GROUND, SceneStyle, _choose_grounds, make_scenes, write_scenes
from segvote.errors import BadInputError, UnknownNameError


def test_scenes_have_the_shapes_labels_and_masks_they_promise():
    scenes = list(make_scenes(3, 2, size=(160, 120)))
    assert [scene.bag_label for scene in scenes] == ["with"] * 3 + ["without"] * 2
    assert len({scene.name for scene in scenes}) == 5
    for scene in scenes:
        assert scene.image.shape == (120, 160, 3) and scene.image.dtype == np.uint8
        assert scene.mask.shape == (120, 160) and scene.mask.dtype == np.bool_
        assert scene.mask.any() == (scene.bag_label == "with")


def test_the_same_scene_whatever_the_number_of_others():
    few, many = list(make_scenes(2, 1, seed=4)), list(make_scenes(4, 3, seed=4))
    assert np.array_equal(few[1].image, many[1].image)
    assert np.array_equal(few[2].image, many[4].image)
    assert not np.array_equal(few[0].image, next(make_scenes(1, 0, seed=5)).image)


def test_no_network_is_touched(monkeypatch):
    def refuse(*_args, **_kwargs):
        raise AssertionError("made scenes must not open a socket")

    monkeypatch.setattr(socket, "socket", refuse)
    open_bundled.cache_clear()
    for target in OBJECTS.values():
        target.cache_clear()
    assert len(list(make_scenes(2, 2, size=(80, 60)))) == 4


def test_the_mask_is_where_the_object_is():
    # The cup is much redder than what surrounds it in a scene without colour in the ground.
    for scene in make_scenes(4, 0, seed=1):
        redness = scene.image[..., 0].astype(float) - scene.image[..., 1:].mean(axis=2)
        assert redness[scene.mask].mean() > redness[~scene.mask].mean() + 15


@pytest.mark.parametrize("object_area", [(0.02, 0.03), (0.2, 0.25)])
def test_the_object_has_the_area_asked_for(object_area):
    for scene in make_scenes(4, 0, object_area=object_area):
        # A neighbour may lie over a part of it.
        assert 0.7 * object_area[0] < scene.mask.mean() < 1.1 * object_area[1]


def touches_border(mask):
    return mask[0].any() or mask[-1].any() or mask[:, 0].any() or mask[:, -1].any()


def test_touching_the_border_is_an_option():
    assert all(touches_border(scene.mask) for scene in make_scenes(6, 0, touch_border=True))
    assert sum(touches_border(scene.mask) for scene in make_scenes(6, 0)) <= 1


def test_a_shared_scene_is_never_in_a_without_image():
    style, rng = SceneStyle(shared_scene=True), np.random.default_rng(0)
    assert _choose_grounds("with", style, rng) == [SHARED_GROUND]
    assert all(SHARED_GROUND not in _choose_grounds("without", style, rng) for _ in range(50))
    assert any(SHARED_GROUND in _choose_grounds("without", SceneStyle(), rng) for _ in range(50))


def test_written_scenes_have_the_neutral_layout(tmp_path):
    write_scenes(tmp_path, 2, 1, size=(80, 60))
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


@pytest.mark.parametrize("style", [{"size": (20, 90)}, {"appearances": 0}, {"object_area": (0.3, 0.1)}])
def test_a_bad_style_is_an_error(style):
    with pytest.raises(BadInputError):
        next(make_scenes(1, 0, **style))


def test_an_unknown_object_is_an_error():
    with pytest.raises(UnknownNameError, match="cup"):
        SceneStyle(target="hat")
