"""Items of data sets, and the files in which public sets keep their truth."""

from pathlib import Path

import numpy as np
import pytest

from segvote.datasets import DATASETS
from segvote.datasets.base import DataItem, DataSet, find_folder, oppose_classes, order_corners, read_voc_boxes
from segvote.errors import BadInputError, UnknownNameError


def make_item(name, bag_label="with"):
    return DataItem(name, bag_label, (Path(name),), masks={0: lambda: np.zeros((2, 2), np.uint8)})


@pytest.mark.parametrize("name", DATASETS)
def test_every_loader_names_the_folder_that_is_not_there(name, tmp_path):
    with pytest.raises(BadInputError, match="nowhere"):
        DATASETS[name](tmp_path / "nowhere")


def test_other_classes_are_without_and_without_truth():
    data = oppose_classes("made", {"cat": [make_item("c1"), make_item("c2")], "dog": [make_item("d1")]})
    assert data.classes == ["cat", "dog"]
    assert [item.name for item in data.select("cat", "with")] == ["c1", "c2"]
    assert [item.name for item in data.select("dog", "without")] == ["c1", "c2"]
    assert not any(item.has_truth for item in data.select("dog", "without"))


def test_one_class_can_be_asked_for():
    by_class = {"cat": [make_item("c")], "dog": [make_item("d")]}
    assert oppose_classes("made", by_class, "dog").classes == ["dog"]
    with pytest.raises(UnknownNameError, match="cat, dog"):
        oppose_classes("made", by_class, "cow")


def test_a_class_that_nothing_shows_is_an_error():
    with pytest.raises(BadInputError, match="nothing on disk shows cat"):
        DataSet("made", {"cat": (make_item("d", "without"),)})


def test_the_folder_around_a_data_set_is_accepted(tmp_path):
    (tmp_path / "unpacked" / "images").mkdir(parents=True)
    assert find_folder(tmp_path, "images") == find_folder(tmp_path / "unpacked", "images") == tmp_path / "unpacked"


def test_swapped_corners_are_ordered_and_negatives_clipped():
    boxes = order_corners(np.array([[30, 5, 10, 25], [-4, -2, 8, 9], [3, 3, 3, 9]]), size=(20, 25))
    assert boxes.tolist() == [[10, 5, 25, 20], [0, 0, 8, 9]]


def test_voc_counts_from_one_and_includes_the_end(tmp_path):
    (tmp_path / "a.xml").write_text(
        "<annotation><object><name>car</name><bndbox><xmin>1</xmin><ymin>1</ymin><xmax>10</xmax><ymax>5</ymax></bndbox>"
        "</object></annotation>"
    )
    assert read_voc_boxes(tmp_path / "a.xml")["car"].tolist() == [[0, 0, 10, 5]]  # 10 wide, 5 high


@pytest.mark.parametrize("text", ["<annotation>", "<annotation><object><name>car</name></object></annotation>"])
def test_damaged_voc_annotations_are_refused(tmp_path, text):
    (tmp_path / "b.xml").write_text(text)
    with pytest.raises(BadInputError, match=r"b\.xml"):
        read_voc_boxes(tmp_path / "b.xml")
