"""Items of data sets, and the files in which public sets keep their truth."""

from pathlib import Path

import numpy as np
import pytest
from scipy.io import savemat

from segvote.datasets import DATASETS
from segvote.datasets.base import (
    DataItem,
    DataSet,
    find_folder,
    measure_colours,
    oppose_classes,
    order_corners,
    pick_classes,
    read_colour_mask,
    read_stick_boxes,
    read_threshold_mask,
    read_trimap,
    read_voc_boxes,
)
from segvote.errors import BadInputError, UnknownNameError

RED, BLUE, BLACK = (128, 0, 0), (0, 0, 128), (0, 0, 0)


def make_item(name, bag_label="with"):
    return DataItem(name, bag_label, (Path(name),), masks={0: lambda: np.zeros((2, 2), np.uint8)})


@pytest.mark.parametrize("name", DATASETS)
def test_every_loader_names_the_folder_that_is_not_there(name, tmp_path):
    with pytest.raises(BadInputError, match="nowhere"):
        DATASETS[name](tmp_path / "nowhere")


def test_nothing_is_read_before_it_is_asked_for():
    def fail():
        raise AssertionError("read too early")

    item = DataItem("a", "with", (Path("absent.png"),), masks={0: fail})
    assert item.has_truth
    with pytest.raises(AssertionError, match="too early"):
        item.read_masks()


def test_other_classes_are_without_and_without_truth():
    data = oppose_classes("made", {"cat": [make_item("c1"), make_item("c2")], "dog": [make_item("d1")]})
    assert data.classes == ["cat", "dog"]
    assert [item.name for item in data.select("cat", "with")] == ["c1", "c2"]
    assert [item.name for item in data.select("dog", "without")] == ["c1", "c2"]
    assert not any(item.has_truth for item in data.select("dog", "without"))


def test_one_class_can_be_asked_for():
    assert oppose_classes("made", {"cat": [make_item("c")], "dog": [make_item("d")]}, "dog").classes == ["dog"]
    with pytest.raises(UnknownNameError, match="cat, dog"):
        pick_classes(["cat", "dog"], "cow")


def test_a_class_that_nothing_shows_is_an_error():
    with pytest.raises(BadInputError, match="nothing on disk shows cat"):
        DataSet("made", {"cat": (make_item("d", "without"),)})


def test_the_folder_around_a_data_set_is_accepted(tmp_path):
    (tmp_path / "unpacked" / "images").mkdir(parents=True)
    assert find_folder(tmp_path, "images") == find_folder(tmp_path / "unpacked", "images") == tmp_path / "unpacked"


def test_colours_become_object_ignore_and_background(tmp_path, write_picture):
    label = np.array([[RED, BLUE, BLACK, (1, 2, 3)]], dtype=np.uint8)
    path = write_picture(tmp_path / "label.png", label)
    assert read_colour_mask(path, (BLUE,), (BLACK,)).tolist() == [[0, 255, 128, 0]]
    assert measure_colours(path) == {RED: 0.25, BLUE: 0.25, BLACK: 0.25, (1, 2, 3): 0.25}


def test_a_jpeg_mask_is_thresholded(tmp_path, write_picture, half_mask):
    path = write_picture(tmp_path / "00011.jpg", np.where(half_mask, 255, 0).astype(np.uint8), quality=40)
    assert np.array_equal(read_threshold_mask(path), np.where(half_mask, 255, 0))


def test_a_trimap_keeps_its_unclassified_line(tmp_path, write_picture):
    path = write_picture(tmp_path / "t.png", np.array([[1, 3, 2]], dtype=np.uint8))
    assert read_trimap(path).tolist() == [[255, 128, 0]]
    with pytest.raises(BadInputError, match="1, 2 and 3"):
        read_trimap(write_picture(tmp_path / "bad.png", np.array([[1, 255]], dtype=np.uint8)))


def test_swapped_corners_are_ordered_and_negatives_clipped():
    boxes = order_corners(np.array([[30, 5, 10, 25], [-4, -2, 8, 9], [3, 3, 3, 9]]), size=(20, 25))
    assert boxes.tolist() == [[10, 5, 25, 20], [0, 0, 8, 9]]


def test_stick_boxes_are_cells_of_four_numbers(tmp_path, write_picture):
    cells = np.empty((1, 2), dtype=object)
    cells[0, 0], cells[0, 1] = np.array([[9.0, 2.0, 3.0, 8.0]]), np.array([[-1.0, 0.0, 5.0, 5.0]])
    savemat(tmp_path / "frame0001.jpg_sticks.mat", {"coor": cells})
    frame = write_picture(tmp_path / "frame0001.jpg", np.zeros((20, 20, 3), np.uint8))
    assert read_stick_boxes(tmp_path / "frame0001.jpg_sticks.mat", frame).tolist() == [[3, 2, 9, 8], [0, 0, 5, 5]]


def test_voc_counts_from_one_and_includes_the_end(tmp_path):
    (tmp_path / "a.xml").write_text(
        "<annotation><object><name>car</name><bndbox><xmin>1</xmin><ymin>1</ymin><xmax>10</xmax><ymax>5</ymax></bndbox>"
        "</object></annotation>"
    )
    assert read_voc_boxes(tmp_path / "a.xml")["car"].tolist() == [[0, 0, 10, 5]]  # 10 wide, 5 high
    (tmp_path / "b.xml").write_text("<annotation>")
    with pytest.raises(BadInputError, match=r"b\.xml"):
        read_voc_boxes(tmp_path / "b.xml")
