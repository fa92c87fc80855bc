"""DAVIS, and segment truth of shots in our reading of its layout."""

import numpy as np
import pytest
from PIL import Image

from segvote.datasets import DATASETS
from segvote.errors import BadInputError


@pytest.fixture
def davis(tmp_path, write_picture, half_mask):
    for sequence in ("car-shadow", "drift-turn", "goat"):
        for number in range(2):
            write_picture(tmp_path / f"DAVIS/JPEGImages/480p/{sequence}/{number:05d}.jpg")
            mask = np.where(half_mask, 255, 0).astype(np.uint8)
            write_picture(tmp_path / f"DAVIS/Annotations/480p/{sequence}/{number:05d}.png", mask)
    return tmp_path


def test_sequences_are_grouped_by_what_is_masked(davis):
    data = DATASETS["davis"](davis)
    assert data.classes == ["car"]
    assert [item.name for item in data.select("car", "with")] == ["car-shadow", "drift-turn"]
    assert [item.name for item in data.select("car", "without")] == ["goat"]
    assert not data.select("car", "without")[0].has_truth


def test_a_sequence_in_no_group_is_its_own_class(davis):
    data = DATASETS["davis"](davis, "goat")
    assert [item.name for item in data.select("goat", "with")] == ["goat"]
    assert data.select("goat", "with")[0].read_masks().keys() == {0, 1}


def test_numbered_objects_of_2017_all_count(davis, half_mask):
    picture = Image.fromarray(np.where(half_mask, 1, 2).astype(np.uint8)).convert("P")
    picture.putpalette([0, 0, 0, 128, 0, 0, 0, 128, 0] + [0] * 759)
    picture.putdata(np.where(half_mask, 1, 2).ravel().tolist())
    picture.save(davis / "DAVIS/Annotations/480p/goat/00000.png")
    mask = DATASETS["davis"](davis, "goat").items["goat"][0].read_masks()[0]
    assert (mask == 255).all()


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


def test_other_labels_and_other_layouts_are_refused(shots, tmp_path):
    (shots / "cat/data/0001/shots/001/labels.txt").write_text("700 cat\n")
    with pytest.raises(BadInputError, match="NUMBER 1"):
        DATASETS["tang-segments"](shots, "cat").items["cat"][0].read_masks()
    with pytest.raises(BadInputError, match="layout"):
        DATASETS["tang-segments"](tmp_path / "absent")
