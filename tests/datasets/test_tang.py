"""Segment truth of shots: numbers as grey values and colours, labels, and shots that have none."""

import numpy as np
import pytest

from segvote.datasets import DATASETS
from segvote.datasets.tang import read_segment_labels
from segvote.errors import BadInputError


def write_shot(folder, write_picture, numbers, labels="3 1\n7 0  # road\n9 -1\n", n_frames=3):
    for number in range(1, n_frames + 1):
        write_picture(folder / f"frame{number:04d}.jpg")
    if labels:
        (folder / "labels.txt").write_text(labels)
    for number, picture in numbers.items():
        write_picture(folder / "segments" / f"{number:04d}.png", picture)


@pytest.fixture
def numbers():
    """(18, 24) segments 3, 7, 9 and 300 side by side."""
    return np.repeat(np.array([3, 7, 9, 300]), 6)[None].repeat(18, axis=0)


@pytest.fixture
def shots(tmp_path, write_picture, numbers):
    for class_name in ("car", "train"):
        folder = tmp_path / "set" / class_name / "data/0001/shots"
        write_shot(folder / "001", write_picture, {2: numbers.astype(np.uint16)})
        write_shot(folder / "002", write_picture, {}, labels="")
    return tmp_path


def test_labels_of_segments_are_masks_of_frames(shots):
    data = DATASETS["tang-segments"](shots)
    assert data.classes == ["car", "train"]
    (item,) = data.select("car", "with")  # the shot without labels is none of the 151
    assert item.name == "car/0001/001" and item.is_video and len(item.frames) == 3
    assert item.masks.keys() == {1}
    np.testing.assert_array_equal(item.masks[1]()[0, ::6], [255, 0, 128, 128])
    (other,) = data.select("car", "without")
    assert other.name == "train/0001/001" and not other.has_truth


def test_a_colour_is_a_number(tmp_path, write_picture, numbers):
    colours = np.stack([numbers % 256, numbers // 256, 0 * numbers], axis=2).astype(np.uint8)
    for class_name in ("car", "cow"):
        folder = tmp_path / class_name / "data/0001/shots/001"
        write_shot(folder, write_picture, {1: colours}, labels="3 0\n300 1\n7 0\n9 0\n")
    mask = DATASETS["tang-segments"](tmp_path, "car").items["car"][0].masks[0]()
    np.testing.assert_array_equal(mask[0, ::6], [0, 0, 0, 255])


def test_labels_without_segments_are_an_error(tmp_path, write_picture):
    write_shot(tmp_path / "car/data/0001/shots/001", write_picture, {})
    with pytest.raises(BadInputError, match="expected segments/NUMBER"):
        DATASETS["tang-segments"](tmp_path)


@pytest.mark.parametrize("line", ["3", "3 2", "a 1", "3 1 1"])
def test_a_line_that_is_no_label_is_an_error(tmp_path, line):
    (tmp_path / "labels.txt").write_text(f"1 0\n{line}\n")
    with pytest.raises(BadInputError, match="expected lines 'NUMBER 1'"):
        read_segment_labels(tmp_path / "labels.txt")
