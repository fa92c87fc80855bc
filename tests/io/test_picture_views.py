"""Pages and windows of picture files, on files made here."""

from pathlib import Path

import numpy as np
import pytest
import tifffile
from PIL import Image

from segvote.errors import UnreadableImageError
from segvote.io.decoding import count_pages
from segvote.io.images import read_image, read_image_size
from segvote.io.picture_formats import WINDOWS, PictureView, choose_window, name_view, split_view

SHAPE = (12, 16)


def make_pages(n_pages, dtype=np.uint8):
    return np.stack([np.full(SHAPE, 10 * (number + 1), dtype) for number in range(n_pages)])


@pytest.fixture
def stack(tmp_path):
    tifffile.imwrite(tmp_path / "stack.tif", make_pages(6), photometric="minisblack")
    return tmp_path / "stack.tif"


def test_a_path_selects_the_page(stack):
    assert read_image(stack).max() == 10
    assert read_image(name_view(stack, PictureView("4"))).max() == 50
    assert read_image_size(name_view(stack, PictureView("4"))) == SHAPE


def test_a_turned_photograph_is_turned_once(tmp_path):
    picture = Image.new("RGB", (8, 4), (10, 20, 30))
    exif = picture.getexif()
    exif[0x0112] = 6
    picture.save(tmp_path / "a.jpg", exif=exif, quality=100, subsampling=0)
    for window in WINDOWS:  # which leaves bytes alone
        image = read_image(choose_window(tmp_path / "a.jpg", window))
        assert image.shape == (8, 4, 3) and np.abs(image[0, 0] - np.array([10, 20, 30])).max() <= 2


def test_channels_are_no_pages_and_the_first_three_are_read(tmp_path):
    Image.new("CMYK", (8, 8)).save(tmp_path / "cmyk.tif")
    values = np.zeros((*SHAPE, 5), np.uint8) + np.arange(5, dtype=np.uint8) * 10
    tifffile.imwrite(tmp_path / "a.tif", values, photometric="minisblack", planarconfig="contig")
    tifffile.imwrite(tmp_path / "b.tif", np.moveaxis(values, -1, 0), photometric="minisblack", planarconfig="separate")
    assert {count_pages(tmp_path / name) for name in ("cmyk.tif", "a.tif", "b.tif")} == {1}
    for name in ("a.tif", "b.tif"):
        assert read_image(tmp_path / name)[0, 0].tolist() == [0, 10, 20]


def test_pages_compressed_in_a_way_only_pillow_knows_are_read(tmp_path):
    first, *rest = [Image.fromarray(page) for page in make_pages(3)]
    first.save(tmp_path / "a.tif", save_all=True, append_images=rest, compression="tiff_lzw")
    assert count_pages(tmp_path / "a.tif") == 3
    assert read_image(name_view(tmp_path / "a.tif", PictureView("2"))).max() == 30


def test_a_window_of_percentiles_spreads_a_narrow_range(tmp_path):
    values = np.linspace(30_000, 30_400, 200 * 200).reshape(200, 200).astype(np.uint16)
    tifffile.imwrite(tmp_path / "a.tif", values)
    Image.fromarray(values).save(tmp_path / "a.png")
    for name in ("a.tif", "a.png"):
        assert np.ptp(read_image(tmp_path / name)) <= 2
        shown = read_image(choose_window(tmp_path / name, "percentile"))
        assert (shown.min(), shown.max()) == (0, 255)


def test_a_file_that_is_really_called_like_a_view_is_read_whole(tmp_path):
    Image.new("L", (8, 8), 5).save(tmp_path / "a[3].png")
    assert split_view(tmp_path / "a[3].png") == (tmp_path / "a[3].png", PictureView())
    assert read_image(tmp_path / "a[3].png").max() == 5


@pytest.mark.parametrize("view", [PictureView("002"), PictureView(window="percentile"), PictureView("1", "percentile")])
def test_a_view_is_read_back_from_its_name(view):
    assert split_view(name_view(Path("nowhere/a.b.tif"), view)) == (Path("nowhere/a.b.tif"), view)


def test_a_missing_page_is_named(stack):
    with pytest.raises(UnreadableImageError, match=r"has 6 pages, page 9 \(from 0\) was asked for"):
        read_image(name_view(stack, PictureView("9")))
