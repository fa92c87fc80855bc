"""Pages, channels and windows of picture files, on files made here."""

from pathlib import Path

import numpy as np
import pytest
import tifffile
from PIL import Image

from segvote.errors import BadInputError, UnreadableImageError
from segvote.io.images import read_image, read_image_size
from segvote.io.picture_formats import PictureView, Reading, name_view, split_view
from segvote.io.tiff_stacks import StackLayout, measure_stack

SHAPE = (12, 16)


def make_pages(n_pages, dtype=np.uint8):
    return np.stack([np.full(SHAPE, 10 * (number + 1), dtype) for number in range(n_pages)])


@pytest.fixture
def stack(tmp_path):
    tifffile.imwrite(tmp_path / "stack.tif", make_pages(6), photometric="minisblack")
    return tmp_path / "stack.tif"


@pytest.fixture
def microscopy(tmp_path):
    """An ImageJ file with three depths and four channels of 16 bits."""
    values = np.zeros((3, 4, *SHAPE), np.uint16)
    values += np.arange(4, dtype=np.uint16).reshape(1, 4, 1, 1) * 70 + np.arange(3, dtype=np.uint16).reshape(3, 1, 1, 1)
    tifffile.imwrite(tmp_path / "cells.tif", 16 * values, imagej=True, metadata={"axes": "ZCYX"})
    return tmp_path / "cells.tif"


def test_a_path_says_which_page_is_read(stack):
    assert read_image(stack).max() == 10
    assert read_image(name_view(stack, PictureView("4"))).max() == 50
    assert read_image_size(name_view(stack, PictureView("4"))) == SHAPE


def test_the_maximum_over_all_pages_is_one_image(tmp_path):
    pages = np.zeros((3, *SHAPE), np.uint8)
    pages[0, 0, 0], pages[1, 5, 5], pages[2, 5, 5] = 200, 90, 40
    tifffile.imwrite(tmp_path / "a.tif", pages, photometric="minisblack")
    image = read_image(Reading(pages="max").view(tmp_path / "a.tif"))
    assert image[0, 0, 0] == 200
    assert image[5, 5, 0] == 90


def test_channels_become_colours_in_the_order_asked_for(microscopy):
    assert measure_stack(microscopy) == StackLayout(3, 4)
    image = read_image(Reading(channels="3,0,1").view(microscopy))
    assert image[0, 0].tolist() == [210, 0, 70]
    assert read_image(Reading(channels="2").view(microscopy))[0, 0].tolist() == [140] * 3
    assert read_image(Reading(channels="1,2").view(microscopy))[0, 0].tolist() == [70, 140, 0]


def test_a_missing_channel_is_named(microscopy):
    with pytest.raises(UnreadableImageError, match="has 4 channels, numbered from 0; channel 7 was asked for"):
        read_image(Reading(channels="7").view(microscopy))


def test_channels_of_a_photograph_are_exchanged(tmp_path):
    Image.new("RGB", (8, 8), (10, 20, 30)).save(tmp_path / "a.png")
    Image.new("L", (8, 8), 77).save(tmp_path / "grey.png")
    reading = Reading(channels="2,1,0")
    assert read_image(reading.view(tmp_path / "a.png"))[0, 0].tolist() == [30, 20, 10]
    assert read_image(reading.view(tmp_path / "grey.png"))[0, 0].tolist() == [77] * 3


def test_a_turned_photograph_is_turned_once(tmp_path):
    picture = Image.new("RGB", (8, 4), (10, 20, 30))
    exif = picture.getexif()
    exif[0x0112] = 6
    picture.save(tmp_path / "a.jpg", exif=exif, quality=100, subsampling=0)
    for reading in (Reading(), Reading(channels="0,1,2"), Reading(window="percentile")):
        assert read_image(reading.view(tmp_path / "a.jpg")).shape == (8, 4, 3)


def test_colour_in_a_tiff_is_one_slice_and_one_channel(tmp_path):
    Image.new("RGB", (8, 8), (10, 20, 30)).save(tmp_path / "rgb.tif")
    Image.new("RGBA", (8, 8), (10, 20, 30, 255)).save(tmp_path / "rgba.tif")
    Image.new("CMYK", (8, 8)).save(tmp_path / "cmyk.tif")
    assert {measure_stack(tmp_path / name) for name in ("rgb.tif", "rgba.tif", "cmyk.tif")} == {StackLayout()}


def test_many_samples_in_a_page_are_channels(tmp_path):
    values = np.zeros((*SHAPE, 5), np.uint8) + np.arange(5, dtype=np.uint8) * 10
    tifffile.imwrite(tmp_path / "a.tif", values, photometric="minisblack", planarconfig="contig")
    tifffile.imwrite(tmp_path / "b.tif", np.moveaxis(values, -1, 0), photometric="minisblack", planarconfig="separate")
    for name in ("a.tif", "b.tif"):
        assert measure_stack(tmp_path / name) == StackLayout(1, 5)
        assert read_image(Reading(channels="4,0,2").view(tmp_path / name))[0, 0].tolist() == [40, 0, 20]


def test_a_window_of_percentiles_spreads_what_few_bits_hold(tmp_path):
    values = np.linspace(30_000, 30_400, 200 * 200).reshape(200, 200).astype(np.uint16)
    tifffile.imwrite(tmp_path / "a.tif", values)
    Image.fromarray(values).save(tmp_path / "a.png")
    for name in ("a.tif", "a.png"):
        assert np.ptp(read_image(tmp_path / name)) <= 2
        shown = read_image(Reading(window="percentile").view(tmp_path / name))
        assert (shown.min(), shown.max()) == (0, 255)


def test_a_window_of_two_numbers_is_the_same_for_all_images(tmp_path):
    tifffile.imwrite(tmp_path / "a.tif", np.array([[900, 1000, 1500, 2000, 9000]] * 5, np.uint16))
    shown = read_image(Reading(window="1000,2000").view(tmp_path / "a.tif"))
    assert shown[0, :, 0].tolist() == [0, 0, 128, 255, 255]


def test_a_window_leaves_bytes_alone(tmp_path):
    Image.new("RGB", (8, 8), (10, 20, 30)).save(tmp_path / "a.png")
    assert read_image(Reading(window="0,10").view(tmp_path / "a.png"))[0, 0].tolist() == [10, 20, 30]


@pytest.mark.parametrize(
    "wrong", [{"pages": "last"}, {"channels": "0,1,2,3"}, {"channels": "red"}, {"window": "9,1"}, {"window": "wide"}]
)
def test_a_wrong_choice_is_refused_before_anything_is_read(wrong):
    with pytest.raises(BadInputError, match=next(iter(wrong))):
        Reading(**wrong)


def test_a_file_that_is_really_called_like_a_view_is_read_whole(tmp_path):
    Image.new("L", (8, 8), 5).save(tmp_path / "a[3].png")
    assert split_view(tmp_path / "a[3].png") == (tmp_path / "a[3].png", PictureView())
    assert read_image(tmp_path / "a[3].png").max() == 5


@pytest.mark.parametrize(
    "view",
    [PictureView("002"), PictureView("max", (0, 2, 1)), PictureView(channels=(1,)), PictureView("1", (), "0,9.5")],
)
def test_a_view_is_read_back_from_its_name(view):
    assert split_view(name_view(Path("nowhere/a.b.tif"), view)) == (Path("nowhere/a.b.tif"), view)
