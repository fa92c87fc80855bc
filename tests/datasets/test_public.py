"""Public sets: shots, boxes and masks in the layout of each."""

import numpy as np
import pytest
from PIL import Image
from scipy.io import savemat

from segvote.datasets import DATASETS

XML = (
    "<annotation><filename>{name}.jpg</filename><object><name>{target}</name><bndbox>"
    "<xmin>3</xmin><ymin>2</ymin><xmax>12</xmax><ymax>9</ymax></bndbox></object></annotation>"
)


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
    assert item.boxes[1]().tolist() == [[4, 3, 20, 15], [0, 2, 24, 9]]


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
    mask = item.masks[10]()
    assert mask.shape == (18, 24) and np.array_equal(mask == 255, half_mask)
    assert item.read_frame(10).shape == (36, 48, 3)
    assert [other.name for other in data.select("cow", "without")] == ["dog/0001/001"]


@pytest.fixture
def ranges(tmp_path, write_picture):
    for class_name in ("bird", "boat"):
        for number in range(1, 11):
            write_picture(tmp_path / class_name / f"{number:08d}.jpg")
        (tmp_path / "Ranges").mkdir(exist_ok=True)
        # start, end (inclusive), video; the last shot's frames are not on disk.
        shots = np.array([[1, 5, 6, 50], [4, 5, 10, 60], [1, 1, 2, 2]], dtype=np.uint16)
        savemat(tmp_path / "Ranges" / f"ranges_{class_name}.mat", {"ranges": shots})
    folder = tmp_path / "GroundTruth/bird"
    folder.mkdir(parents=True)
    for part, number in (("Training", 2), ("Test", 7)):
        records = np.empty((1, 2), dtype=[("im", object), ("boxes", object)])
        records[0, 0] = (f"bird{number:08d}", np.array([[1, 2, 11, 12]], dtype=float))
        records[0, 1] = (f"bird{number + 2:08d}", np.array([[1, 2, 3, 4], [9, 2, 5, 8]], dtype=float))
        savemat(folder / f"bb_gt{part}_bird.mat", {f"bb_gt{part}": records})
    return tmp_path


def test_ranges_are_inclusive_shots(ranges):
    data = DATASETS["youtube-objects-v2.2"](ranges)
    birds = data.select("bird", "with")
    assert [item.name for item in birds] == ["bird/0001/0000", "bird/0001/0001", "bird/0002/0002"]
    assert [len(item.frames) for item in birds] == [4, 1, 5]
    assert all(item.is_video for item in birds) and len(data.select("bird", "without")) == 3


def test_boxes_of_both_parts_find_their_frames(ranges):
    birds = DATASETS["youtube-objects-v2.2"](ranges, "bird").select("bird", "with")
    assert [sorted(item.boxes) for item in birds] == [[1, 3], [], [1, 3]]
    assert birds[0].boxes[1]().tolist() == [[1, 2, 11, 12]]
    assert birds[2].boxes[3]().tolist() == [[1, 2, 3, 4], [5, 2, 9, 8]]


@pytest.mark.parametrize("start", ["", "YTOdevkit", "YTOdevkit/YTO"])
def test_v23_is_found_from_each_of_its_folders(tmp_path, write_picture, start):
    folder = tmp_path / "YTOdevkit/YTO"
    (folder / "Annotations").mkdir(parents=True)
    for name, target in (("cat_00000012", "cat"), ("cow_00000007", "cow"), ("cow_00000099", "cow")):
        (folder / "Annotations" / f"{name}.xml").write_text(XML.format(name=name, target=target))
        if not name.endswith("99"):  # an annotation whose image is missing
            write_picture(folder / "JPEGImages" / f"{name}.jpg")
    data = DATASETS["youtube-objects-v2.3"](tmp_path / start)
    assert data.classes == ["cat", "cow"]
    (cat,) = data.select("cat", "with")
    assert cat.name == "cat_00000012.jpg" and not cat.is_video
    assert cat.boxes[0]().tolist() == [[2, 1, 12, 9]]
    assert [item.name for item in data.select("cat", "without")] == ["cow_00000007.jpg"]


@pytest.fixture
def davis(tmp_path, write_picture, half_mask):
    for sequence in ("car-shadow", "drift-turn", "goat"):
        for number in range(2):
            write_picture(tmp_path / f"DAVIS/JPEGImages/480p/{sequence}/{number:05d}.jpg")
            mask = np.where(half_mask, 255, 0).astype(np.uint8)
            write_picture(tmp_path / f"DAVIS/Annotations/480p/{sequence}/{number:05d}.png", mask)
    return tmp_path


def test_sequences_are_grouped_by_their_object(davis):
    data = DATASETS["davis"](davis)
    assert data.classes == ["car"]
    assert [item.name for item in data.select("car", "with")] == ["car-shadow", "drift-turn"]
    assert [item.name for item in data.select("car", "without")] == ["goat"]
    assert not data.select("car", "without")[0].has_truth


def test_a_sequence_in_no_group_is_its_own_class(davis):
    data = DATASETS["davis"](davis, "goat")
    assert [item.name for item in data.select("goat", "with")] == ["goat"]
    assert data.select("goat", "with")[0].masks.keys() == {0, 1}


def test_numbered_objects_of_2017_all_count(davis, half_mask):
    picture = Image.fromarray(np.where(half_mask, 1, 2).astype(np.uint8)).convert("P")
    picture.putpalette([0, 0, 0, 128, 0, 0, 0, 128, 0] + [0] * 759)
    picture.putdata(np.where(half_mask, 1, 2).ravel().tolist())
    picture.save(davis / "DAVIS/Annotations/480p/goat/00000.png")
    mask = DATASETS["davis"](davis, "goat").items["goat"][0].masks[0]()
    assert (mask == 255).all()
