from pathlib import Path

import numpy as np
import pytest

from segvote.datasets import DATASETS
from segvote.datasets.base import DataItem, DataSet, find_folder, oppose_classes, pick_classes
from segvote.errors import BadInputError, UnknownNameError


def make_item(name, bag_label="with"):
    return DataItem(name, bag_label, (Path(name),), masks={0: lambda: np.zeros((2, 2), np.uint8)})


@pytest.mark.parametrize("name", DATASETS)
def test_every_loader_names_the_folder_that_is_not_there(name, tmp_path):
    with pytest.raises(BadInputError, match="nowhere"):
        DATASETS[name](tmp_path / "nowhere")


@pytest.mark.parametrize("name", DATASETS)
def test_every_loader_is_called_load_and_documented(name):
    loader = DATASETS[name]
    assert loader.__name__.startswith("load_")
    assert "Parameters" in loader.__doc__ and "class_name" in loader.__doc__


def test_an_image_is_one_file():
    with pytest.raises(BadInputError, match="one file"):
        DataItem("a", "with", (Path("1.png"), Path("2.png")))
    with pytest.raises(BadInputError, match="at least one"):
        DataItem("a", "with", (), is_video=True)


def test_an_unknown_label_is_an_error():
    with pytest.raises(BadInputError, match="maybe"):
        DataItem("a", "maybe", (Path("1.png"),))


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
