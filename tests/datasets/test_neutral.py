import numpy as np
import pytest

from segvote.datasets import DATASETS, make_scenes, write_scenes
from segvote.errors import BadInputError, UnknownNameError


def test_written_scenes_load_back_with_their_masks(tmp_path):
    write_scenes(tmp_path / "cups", make_scenes(2, 3, size=(64, 48)))
    data = DATASETS["neutral"](tmp_path / "cups")
    assert data.classes == ["cups"]
    shown, absent = data.select("cups", "with"), data.select("cups", "without")
    assert (len(shown), len(absent)) == (2, 3)
    assert shown[0].name == "with/with-000.png" and not shown[0].is_video
    assert shown[0].read_frame().shape == (48, 64, 3)
    assert set(np.unique(shown[0].masks[0]())) == {0, 255}
    assert not any(item.has_truth for item in absent)


def test_nested_images_find_their_masks(tmp_path, write_picture, half_mask):
    write_picture(tmp_path / "with/day one/a.JPG", format="JPEG")
    write_picture(tmp_path / "without/b.png")
    write_picture(tmp_path / "masks/day one/a.png", np.where(half_mask, 255, 0).astype(np.uint8))
    data = DATASETS["neutral"](tmp_path, "thing")
    (item,) = data.select("thing", "with")
    assert item.name == "with/day one/a.JPG" and item.masks.keys() == {0}


def test_folders_of_numbered_frames_are_videos(tmp_path, write_picture, half_mask):
    for number in range(3):
        write_picture(tmp_path / f"with/car-a/{number:05d}.jpg")
        write_picture(tmp_path / f"without/goat/{number:05d}.jpg")
    write_picture(tmp_path / "masks/car-a/00001.png", np.where(half_mask, 255, 0).astype(np.uint8))
    (video,) = DATASETS["neutral"](tmp_path, "car").select("car", "with")
    assert video.is_video and len(video.frames) == 3 and video.masks.keys() == {1}
    assert len(DATASETS["neutral"](tmp_path, "car", videos=False).select("car", "with")) == 3


def test_two_masks_for_one_image_are_an_error(tmp_path, write_picture):
    write_picture(tmp_path / "with/a.png")
    write_picture(tmp_path / "without/b.png")
    write_picture(tmp_path / "masks/a.png")
    write_picture(tmp_path / "masks/a.jpg")
    with pytest.raises(BadInputError, match="two masks"):
        DATASETS["neutral"](tmp_path)


def test_pittcar_knows_cars_only(tmp_path, write_picture):
    write_picture(tmp_path / "with/a.png")
    write_picture(tmp_path / "without/b.png")
    assert DATASETS["pittcar"](tmp_path).classes == ["car"]
    with pytest.raises(UnknownNameError, match="car"):
        DATASETS["pittcar"](tmp_path, "bicycle")
