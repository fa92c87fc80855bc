import numpy as np
import pytest
from scipy.io import savemat

from segvote.datasets.truth_files import (
    measure_colours,
    order_corners,
    read_colour_mask,
    read_stick_boxes,
    read_threshold_mask,
    read_trimap,
    read_voc_boxes,
)
from segvote.errors import BadInputError
from segvote.io.arrays import read_mat

RED, BLUE, BLACK = (128, 0, 0), (0, 0, 128), (0, 0, 0)


def test_colours_become_object_ignore_and_background(tmp_path, write_picture):
    label = np.array([[RED, BLUE, BLACK, (1, 2, 3)]], dtype=np.uint8)
    path = write_picture(tmp_path / "label.png", label)
    assert read_colour_mask(path, (BLUE,), (BLACK,)).tolist() == [[0, 255, 128, 0]]
    assert measure_colours(path) == {RED: 0.25, BLUE: 0.25, BLACK: 0.25, (1, 2, 3): 0.25}


def test_a_jpeg_mask_is_thresholded(tmp_path, write_picture, half_mask):
    path = write_picture(tmp_path / "00011.jpg", np.where(half_mask, 255, 0).astype(np.uint8), quality=40)
    assert np.array_equal(read_threshold_mask(path), np.where(half_mask, 255, 0))


def test_a_mask_of_zeros_and_ones_is_read_too(tmp_path, write_picture, half_mask):
    assert np.array_equal(
        read_threshold_mask(write_picture(tmp_path / "m.png", half_mask.astype(np.uint8))) == 255, half_mask
    )
    assert not read_threshold_mask(write_picture(tmp_path / "e.png", np.zeros((4, 4), np.uint8))).any()


def test_a_trimap_keeps_its_unclassified_line(tmp_path, write_picture):
    path = write_picture(tmp_path / "t.png", np.array([[1, 3, 2]], dtype=np.uint8))
    assert read_trimap(path).tolist() == [[255, 128, 0]]
    with pytest.raises(BadInputError, match="1, 2 and 3"):
        read_trimap(write_picture(tmp_path / "bad.png", np.array([[1, 255]], dtype=np.uint8)))


def test_swapped_corners_are_ordered_and_negatives_clipped():
    boxes = order_corners(np.array([[30, 5, 10, 25], [-4, -2, 8, 9], [3, 3, 3, 9]]), size=(20, 25))
    assert boxes.tolist() == [[10, 5, 25, 20], [0, 0, 8, 9]]


def test_no_boxes_are_no_boxes():
    assert order_corners(np.zeros((0, 4))).shape == (0, 4)


def test_stick_boxes_are_cells_of_four_numbers(tmp_path):
    cells = np.empty((1, 2), dtype=object)
    cells[0, 0], cells[0, 1] = np.array([[9.0, 2.0, 3.0, 8.0]]), np.array([[-1.0, 0.0, 5.0, 5.0]])
    savemat(tmp_path / "frame0001.jpg_sticks.mat", {"coor": cells})
    assert read_stick_boxes(tmp_path / "frame0001.jpg_sticks.mat").tolist() == [[3, 2, 9, 8], [0, 0, 5, 5]]


def test_one_stick_box_alone_is_read_too(tmp_path):
    savemat(tmp_path / "a.mat", {"coor": np.array([[1.0, 2.0, 3.0, 4.0]])})
    assert read_stick_boxes(tmp_path / "a.mat").tolist() == [[1, 2, 3, 4]]


def test_a_mat_file_that_is_none_is_named(tmp_path):
    (tmp_path / "bad.mat").write_bytes(b"not matlab" * 30)
    with pytest.raises(BadInputError, match=r"bad\.mat"):
        read_mat(tmp_path / "bad.mat", "coor")
    savemat(tmp_path / "other.mat", {"x": 1})
    with pytest.raises(BadInputError, match="'coor', got x"):
        read_mat(tmp_path / "other.mat", "coor")


def test_voc_counts_from_one_and_includes_the_end(tmp_path):
    (tmp_path / "a.xml").write_text(
        "<annotation><object><name>car</name><bndbox><xmin>1</xmin><ymin>1</ymin><xmax>10</xmax><ymax>5</ymax></bndbox>"
        "</object></annotation>"
    )
    assert read_voc_boxes(tmp_path / "a.xml")["car"].tolist() == [[0, 0, 10, 5]]  # 10 wide, 5 high
    (tmp_path / "b.xml").write_text("<annotation>")
    with pytest.raises(BadInputError, match=r"b\.xml"):
        read_voc_boxes(tmp_path / "b.xml")
