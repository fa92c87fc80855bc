"""Masks of every usual convention become 0, 128 and 255, and ours come back identical."""

import numpy as np
import pytest
from PIL import Image

from segvote.errors import BadInputError
from segvote.io.masks import normalise_mask, read_mask, write_mask


def save(path, picture, **options):
    picture.save(path, **options)
    return read_mask(path)


@pytest.mark.parametrize("shape", [(1, 1), (5, 7), (33, 1)])
def test_a_written_mask_comes_back(tmp_path, shape):
    mask = np.random.default_rng(0).random(shape) < 0.5
    write_mask(tmp_path / "a.png", mask)
    np.testing.assert_array_equal(read_mask(tmp_path / "a.png") == 255, mask)
    with Image.open(tmp_path / "a.png") as picture:
        assert picture.mode == "L"
        np.testing.assert_array_equal(np.array(picture), mask * 255)


@pytest.mark.parametrize("mask", [np.zeros((2, 3, 1), bool), np.zeros((2, 3)), np.zeros(4, bool)])
def test_other_arrays_are_refused(tmp_path, mask):
    with pytest.raises(BadInputError, match="expected a mask"):
        write_mask(tmp_path / "a.png", mask)


@pytest.mark.parametrize(
    ("values", "wanted"),
    [
        ([0, 1, 1], [0, 255, 255]),
        ([0, 0, 0], [0, 0, 0]),
        ([0, 255, 128], [0, 255, 128]),
        ([0, 255, 255], [0, 255, 255]),
        ([0, 1, 255], [0, 255, 128]),
        ([0, 3, 17], [0, 255, 255]),
        ([3, 251, 100], [0, 255, 0]),
        ([0, 65535, 32896], [0, 255, 128]),
        ([0, 300, 1], [0, 255, 255]),
        ([True, False, True], [255, 0, 255]),
        ([0.0, 0.9, np.nan], [0, 255, 0]),
    ],
)
def test_usual_conventions_are_understood(values, wanted):
    np.testing.assert_array_equal(normalise_mask(np.array([values])), [wanted])


def test_voc_palette_masks_have_objects_and_an_ignored_rim(tmp_path):
    picture = Image.fromarray(np.array([[0, 1, 15, 255]], np.uint8), "P")
    palette = np.zeros((256, 3), np.uint8)
    palette[[1, 15, 255]] = [[128, 0, 0], [192, 128, 128], [224, 224, 192]]
    picture.putpalette(palette.ravel().tolist())
    np.testing.assert_array_equal(save(tmp_path / "a.png", picture), [[0, 255, 255, 128]])


def test_grey_palettes_count_by_their_grey_not_by_their_number(tmp_path):
    picture = Image.fromarray(np.array([[0, 1, 2]], np.uint8), "P")
    picture.putpalette([255, 255, 255, 0, 0, 0, 128, 128, 128])
    np.testing.assert_array_equal(save(tmp_path / "a.png", picture), [[255, 0, 128]])


def test_other_kinds_of_mask_pictures_are_read(tmp_path):
    assert save(tmp_path / "a.png", Image.fromarray(np.array([[0, 255]], np.uint8)).convert("1")).tolist() == [[0, 255]]
    colour = np.array([[[0, 0, 0], [0, 0, 64], [255, 255, 255]]], np.uint8)
    assert save(tmp_path / "b.png", Image.fromarray(colour)).tolist() == [[0, 255, 255]]
    grey = np.repeat(np.array([[0, 128, 255]], np.uint8)[..., None], 3, axis=2)
    assert save(tmp_path / "c.png", Image.fromarray(grey)).tolist() == [[0, 128, 255]]
    alpha = np.array([[[255, 255, 255, 0], [255, 255, 255, 255]]], np.uint8)
    assert save(tmp_path / "d.png", Image.fromarray(alpha)).tolist() == [[0, 255]]
    assert save(tmp_path / "e.png", Image.fromarray(np.array([[0, 65535]], np.uint16))).tolist() == [[0, 255]]
    square = np.pad(np.full((16, 16), 255, np.uint8), 8)
    assert (save(tmp_path / "f.jpg", Image.fromarray(square), quality=60) != square).mean() < 0.01
