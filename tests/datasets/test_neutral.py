import os
from pathlib import Path

import numpy as np
import pytest

from segvote.datasets import DATASETS, write_scenes
from segvote.errors import BadInputError, UnknownNameError


@pytest.fixture
def data_folder():
    if "SEGVOTE_DATA" not in os.environ:
        pytest.skip("SEGVOTE_DATA does not say where the data sets are")
    return Path(os.environ["SEGVOTE_DATA"])


def test_written_scenes_load_back_with_their_masks(tmp_path):
    write_scenes(tmp_path / "cups", 2, 3, size=(64, 48))
    data = DATASETS["neutral"](tmp_path / "cups")
    assert data.classes == ["cups"]
    shown, absent = data.select("cups", "with"), data.select("cups", "without")
    assert (len(shown), len(absent)) == (2, 3)
    assert shown[0].name == "with/with-000.png" and not shown[0].is_video
    assert shown[0].read_frame().shape == (48, 64, 3)
    assert set(np.unique(shown[0].read_masks()[0])) == {0, 255}
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


@pytest.mark.real_data
@pytest.mark.parametrize(
    ("name", "n_with", "n_without"), [("street-cars", 100, 100), ("cows", 45, 100), ("aeroplanes", 30, 100)]
)
def test_real_image_sets_load(data_folder, name, n_with, n_without):
    data = DATASETS["neutral"](data_folder / name)
    shown = data.select(name, "with")
    assert (len(shown), len(data.select(name, "without"))) == (n_with, n_without)
    for item in shown[:5]:
        mask = item.read_masks()[0]
        assert mask.shape == item.read_frame().shape[:2] and (mask == 255).mean() > 0.01


@pytest.mark.real_data
def test_real_videos_load(data_folder):
    data = DATASETS["neutral"](data_folder / "video-cars", "car")
    shown = data.select("car", "with")
    assert (len(shown), len(data.select("car", "without"))) == (3, 4)
    assert all(item.is_video and len(item.masks) == len(item.frames) for item in shown)
