import numpy as np
import pytest
from scipy.io import savemat

from segvote.datasets import DATASETS
from segvote.errors import BadInputError, UnknownNameError


def write_sticks(path, boxes):
    cells = np.empty((1, len(boxes)), dtype=object)
    for index, box in enumerate(boxes):
        cells[0, index] = np.array([box], dtype=float)
    savemat(path, {"coor": cells})


@pytest.fixture
def shots(tmp_path, write_picture):
    """Two classes; car has two videos, one shot of which is empty."""
    for shot in ("car/data/0001/shots/003", "car/data/0002/shots/001", "train/data/0001/shots/010"):
        for number in (1, 2, 3):
            write_picture(tmp_path / shot / f"frame{number:04d}.jpg")
    (tmp_path / "car/data/0002/shots/002").mkdir()
    write_sticks(tmp_path / "car/data/0001/shots/003/frame0002.jpg_sticks.mat", [(20, 3, 4, 15), (-5, 2, 400, 9)])
    for name, video in (("train", "0001"), ("test", "0002")):
        (tmp_path / "car/sets").mkdir(exist_ok=True)
        (tmp_path / f"car/sets/{name}.txt").write_text(video + "\n")
    return tmp_path


def test_shots_are_bags_and_empty_ones_are_left_out(shots):
    data = DATASETS["youtube-objects-v1.0"](shots)
    assert data.classes == ["car", "train"]
    assert [item.name for item in data.select("car", "with")] == ["car/0001/003", "car/0002/001"]
    assert [item.name for item in data.select("car", "without")] == ["train/0001/010"]
    assert all(item.is_video and len(item.frames) == 3 for item in data.items["car"])


def test_swapped_and_overhanging_boxes_are_repaired(shots):
    item = DATASETS["youtube-objects-v1.0"](shots, "car").items["car"][0]
    assert item.boxes.keys() == {1}
    assert item.read_boxes()[1].tolist() == [[4, 3, 20, 15], [0, 2, 24, 9]]


def test_subsets_are_lists_of_videos(shots):
    (shots / "train/sets").mkdir()
    (shots / "train/sets/test.txt").write_text("0001\n")
    data = DATASETS["youtube-objects-v1.0"](shots, "car", subset="test")
    assert [item.name for item in data.select("car", "with")] == ["car/0002/001"]
    with pytest.raises(BadInputError, match=r"train\.txt"):
        DATASETS["youtube-objects-v1.0"](shots, subset="train")


def test_a_class_that_is_not_on_disk_is_an_error(shots):
    with pytest.raises(UnknownNameError, match="car, train"):
        DATASETS["youtube-objects-v1.0"](shots, "cow")


@pytest.mark.parametrize("image_name", ["frame{:04d}.png", "{:05d}.png"])
def test_jain_grauman_masks_belong_to_the_frame_of_their_number(tmp_path, write_picture, half_mask, image_name):
    for class_name in ("cow", "dog"):
        shot = tmp_path / "youtube_masks" / class_name / "data/0001/shots/001"
        for number in range(1, 13):
            write_picture(shot / "images" / image_name.format(number), size=(48, 36))  # twice the size of the label
        for number in (1, 11, 99):  # the last one has no frame
            write_picture(
                shot / "labels" / f"{number:05d}.jpg", np.where(half_mask, 255, 0).astype(np.uint8), quality=50
            )
    data = DATASETS["jain-grauman"](tmp_path, "cow")
    (item,) = data.select("cow", "with")
    assert item.masks.keys() == {0, 10} and len(item.frames) == 12
    mask = item.read_masks()[10]
    assert mask.shape == (18, 24) and np.array_equal(mask == 255, half_mask)
    assert item.read_frame(10).shape == (36, 48, 3)
    assert [other.name for other in data.select("cow", "without")] == ["dog/0001/001"]
