"""Segment truth of shots: a made miniature in our reading of the layout."""

import numpy as np
import pytest

from segvote.datasets import DATASETS
from segvote.errors import BadInputError


@pytest.fixture
def shots(tmp_path, write_picture):
    """A shot of cats with four segments in one of two frames, and one of dogs."""
    numbers = np.zeros((18, 24), dtype=np.uint16)
    numbers[:, 6:12], numbers[:, 12:18], numbers[:, 18:] = 700, 3, 4
    for shot, labels in (
        ("cat/data/0001/shots/001", "0 0\n700 1\n3 -1\n"),
        ("dog/data/0001/shots/002", "700 1 # dog\n"),
    ):
        for number in (1, 2):
            write_picture(tmp_path / shot / f"frame{number:04d}.jpg")
        write_picture(tmp_path / shot / "segments/0002.png", numbers)
        (tmp_path / shot / "labels.txt").write_text(labels)
    return tmp_path


def test_labels_of_segments_become_masks_of_frames(shots):
    data = DATASETS["tang-segments"](shots, "cat")
    item = data.select("cat", "with")[0]
    assert item.name == "cat/0001/001" and len(item.frames) == 2
    # Background, concept, neither, and a segment that no line names.
    assert {number: mask[0, [0, 6, 12, 18]].tolist() for number, mask in item.read_masks().items()} == {
        1: [0, 255, 128, 128]
    }
    assert [one.name for one in data.select("cat", "without")] == ["dog/0001/002"]


def test_colours_are_numbers_too(shots, write_picture):
    colours = np.zeros((18, 24, 3), dtype=np.uint8)
    colours[:, 6:] = 700 % 256, 700 // 256, 0
    write_picture(shots / "cat/data/0001/shots/001/segments/0002.png", colours)
    mask = DATASETS["tang-segments"](shots, "cat").items["cat"][0].read_masks()[1]
    assert mask[0, [0, 6]].tolist() == [0, 255]


def test_other_labels_and_other_layouts_are_refused(shots, tmp_path):
    (shots / "cat/data/0001/shots/001/labels.txt").write_text("700 cat\n")
    with pytest.raises(BadInputError, match="NUMBER 1"):
        DATASETS["tang-segments"](shots, "cat").items["cat"][0].read_masks()
    with pytest.raises(BadInputError, match="layout"):
        DATASETS["tang-segments"](tmp_path / "absent")
