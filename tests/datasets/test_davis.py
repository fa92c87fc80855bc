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


def test_another_resolution_that_is_absent_is_an_error(davis):
    with pytest.raises(BadInputError, match="1080p"):
        DATASETS["davis"](davis, resolution="1080p")
