"""Images of any format become arrays as they are displayed."""

import os

import numpy as np
import pytest
import tifffile
from PIL import Image, ImageOps

from segvote.errors import BadInputError, UnreadableImageError
from segvote.io.images import (
    hash_file,
    list_images,
    read_enough,
    read_image,
    read_image_size,
    read_light,
    read_small_image,
    resize_image,
)

ORIENTATION = 0x0112


@pytest.fixture
def colours():
    return np.random.default_rng(0).integers(0, 256, (30, 50, 3), dtype=np.uint8)


def list_names(folder):
    return [path.relative_to(folder).as_posix() for path in list_images(folder)]


# listing


def test_images_are_listed_nested_in_any_case_and_sorted(tmp_path):
    shown = ["B.bmp", "a b/ü 1.TiFf", "a.webp", "a/z.png", "b.JPG", "x.gif"]
    for name in [*reversed(shown), "notes.txt", ".hidden.png", ".git/x.png"]:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    assert list_names(tmp_path) == shown


def test_links_are_followed_once_and_circles_end(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "real/x.png").touch()
    (tmp_path / "alias").symlink_to(tmp_path / "real")
    (tmp_path / "real/up").symlink_to(tmp_path)
    (tmp_path / "y.png").symlink_to(tmp_path / "real/x.png")
    (tmp_path / "self.png").symlink_to("self.png")
    (tmp_path / "gone.png").symlink_to("nowhere.png")
    assert list_names(tmp_path) == ["gone.png", "real/x.png", "self.png", "y.png"]


@pytest.mark.parametrize("kind", ["absent", "a file"])
def test_a_path_without_a_folder_is_an_error(tmp_path, kind):
    if kind == "a file":
        (tmp_path / "x").touch()
    with pytest.raises(BadInputError, match=kind):
        list_images(tmp_path / "x")


# reading


@pytest.mark.parametrize("extension", ["png", "bmp", "tif", "webp"])
def test_lossless_formats_come_back_identical(tmp_path, colours, extension):
    Image.fromarray(colours).save(tmp_path / f"a.{extension}", **({"lossless": True} if extension == "webp" else {}))
    image = read_image(tmp_path / f"a.{extension}")
    np.testing.assert_array_equal(image, colours)
    assert image.flags.c_contiguous and image.flags.writeable


@pytest.mark.parametrize("extension", ["jpg", "png", "webp", "tif"])
@pytest.mark.parametrize("orientation", range(1, 9))
def test_orientation_is_applied_once(tmp_path, extension, orientation):
    upright = np.kron(np.arange(6).reshape(2, 3) * 40, np.ones((16, 16))).astype(np.uint8)
    exif = Image.Exif()
    exif[ORIENTATION] = orientation
    picture = Image.fromarray(upright).convert("RGB")
    picture.getexif()[ORIENTATION] = orientation
    wanted = np.array(ImageOps.exif_transpose(picture))
    path = tmp_path / f"a.{extension}"
    Image.fromarray(upright).convert("RGB").save(path, exif=exif)
    image = read_image(path)
    assert np.abs(image.astype(int) - wanted).max() < 16  # JPEG and WebP lose a little
    assert read_image_size(path) == image.shape[:2]


def test_size_is_read_without_decoding(tmp_path, colours):
    for extension in ["png", "jpg", "bmp", "gif"]:
        Image.fromarray(colours).save(tmp_path / f"a.{extension}")
        data = (tmp_path / f"a.{extension}").read_bytes()
        (tmp_path / f"a.{extension}").write_bytes(data[:-100])
        assert read_image_size(tmp_path / f"a.{extension}") == (30, 50)


def test_grey_bilevel_and_palette_pictures_become_colour(tmp_path, colours):
    grey = Image.fromarray(colours[..., 0])
    for number, picture in enumerate([grey, grey.convert("1"), Image.fromarray(colours).quantize(16)]):
        picture.save(tmp_path / f"{number}.png")
        np.testing.assert_array_equal(read_image(tmp_path / f"{number}.png"), np.array(picture.convert("RGB")))


def test_transparency_is_laid_on_white(tmp_path):
    pixels = np.array([[[10, 20, 30, 255], [10, 20, 30, 0], [0, 0, 0, 51]]], np.uint8)
    Image.fromarray(pixels).save(tmp_path / "a.png")
    np.testing.assert_array_equal(read_image(tmp_path / "a.png"), [[[10, 20, 30], [255] * 3, [204] * 3]])
    Image.fromarray(np.array([[[7, 255], [7, 0]]], np.uint8), "LA").save(tmp_path / "b.png")
    np.testing.assert_array_equal(read_image(tmp_path / "b.png")[..., 0], [[7, 255]])
    palette = Image.fromarray(np.array([[0, 1]], np.uint8), "P")
    palette.putpalette([9, 9, 9, 50, 60, 70])
    palette.save(tmp_path / "c.gif", transparency=0)
    np.testing.assert_array_equal(read_image(tmp_path / "c.gif"), [[[255] * 3, [50, 60, 70]]])


def test_cmyk_is_converted(tmp_path):
    Image.new("CMYK", (8, 8), (0, 255, 255, 0)).save(tmp_path / "a.jpg", quality=100)
    assert np.abs(read_image(tmp_path / "a.jpg").astype(int) - [255, 0, 0]).max() < 8


@pytest.mark.parametrize("extension", ["png", "tif"])
def test_16_bit_grey_keeps_its_high_byte(tmp_path, extension):
    values = np.random.default_rng(0).integers(0, 65536, (20, 30)).astype(np.uint16)
    Image.fromarray(values).save(tmp_path / f"a.{extension}")
    np.testing.assert_array_equal(read_image(tmp_path / f"a.{extension}")[..., 1], values >> 8)


def test_12_bit_tiff_is_not_shown_black(tmp_path):
    Image.fromarray(np.array([[0, 4095]], np.uint16)).save(tmp_path / "a.tif")
    np.testing.assert_array_equal(read_image(tmp_path / "a.tif")[..., 0], [[0, 255]])


@pytest.mark.parametrize(
    ("values", "wanted"),
    [
        ([0, 0.5, 1, np.nan], [0, 128, 255, 0]),
        ([0, 100, 200, np.nan], [0, 100, 200, 0]),
        ([-1, 0, 1, np.nan], [0, 128, 255, 0]),
        ([0, 1000, 500, np.inf], [0, 255, 128, 255]),
        ([np.nan] * 4, [0] * 4),
        ([300] * 4, [0] * 4),
    ],
)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_float_tiff_is_scaled_by_its_range(tmp_path, values, wanted, dtype):
    tifffile.imwrite(tmp_path / "a.tif", np.array([values], dtype))
    np.testing.assert_array_equal(read_image(tmp_path / "a.tif")[..., 0], [wanted])


@pytest.mark.parametrize("planar", ["contig", "separate"])
def test_tiff_colour_in_floats_is_read(tmp_path, colours, planar):
    samples = colours.astype(np.float32) / 255
    stored = samples if planar == "contig" else np.moveaxis(samples, 2, 0)
    tags = [(274, "H", 1, 6, True)]
    tifffile.imwrite(tmp_path / "a.tif", stored, photometric="rgb", planarconfig=planar, extratags=tags)
    np.testing.assert_array_equal(read_image(tmp_path / "a.tif"), np.rot90(colours, -1))


def test_tiff_colour_in_16_bits_and_wide_integers_are_read(tmp_path, colours):
    tifffile.imwrite(tmp_path / "a.tif", colours.astype(np.uint16) * 257, photometric="rgb")
    np.testing.assert_array_equal(read_image(tmp_path / "a.tif"), colours)
    tifffile.imwrite(tmp_path / "b.tif", np.array([[0, 2**31, 2**32 - 1]], np.uint32))
    assert read_image(tmp_path / "b.tif").shape == (1, 3, 3)
    tifffile.imwrite(tmp_path / "c.tif", np.array([[-5, 5]], np.int16))
    np.testing.assert_array_equal(read_image(tmp_path / "c.tif")[..., 0], [[0, 255]])


@pytest.mark.parametrize("extension", ["gif", "tif", "png", "webp"])
def test_only_the_first_frame_is_read(tmp_path, extension):
    frames = [Image.new("RGB", (9, 7), colour) for colour in ["red", "blue"]]
    frames[0].save(tmp_path / f"a.{extension}", save_all=True, append_images=frames[1:])
    assert np.abs(read_image(tmp_path / f"a.{extension}").astype(int) - [255, 0, 0]).max() < 8


# unreadable files


def assert_unreadable(path, reason):
    for read in (read_image, read_image_size, hash_file):
        with pytest.raises(UnreadableImageError, match=reason) as caught:
            read(path)
        assert path.name in str(caught.value)
        assert "\n" not in str(caught.value)


def test_missing_empty_and_special_files_give_their_reason(tmp_path):
    os.mkfifo(tmp_path / "pipe.png")
    (tmp_path / "empty.png").touch()
    (tmp_path / "folder.png").mkdir()
    (tmp_path / "self.png").symlink_to("self.png")
    assert_unreadable(tmp_path / "pipe.png", "not a regular file")
    assert_unreadable(tmp_path / "empty.png", "empty")
    assert_unreadable(tmp_path / "folder.png", "folder")
    assert_unreadable(tmp_path / "gone.png", "does not exist")
    assert_unreadable(tmp_path / "self.png", "symbolic links")


def test_unusual_tiff_beyond_the_limit_is_refused(tmp_path):
    tifffile.imwrite(tmp_path / "a.tif", np.zeros((30, 40)))
    with pytest.raises(UnreadableImageError, match="too large"):
        read_image(tmp_path / "a.tif", max_pixels=1000)


def test_equal_content_has_an_equal_hash(tmp_path):
    (tmp_path / "a").write_bytes(b"abc")
    assert hash_file(tmp_path / "a") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"


# resizing


def test_shrinking_averages_the_pixels_that_fall_together():
    image = np.zeros((4, 8, 3), np.uint8)
    image[:, 1::2] = 100
    np.testing.assert_array_equal(resize_image(image, 4), np.full((2, 4, 3), 50))


def test_small_images_are_enlarged_only_when_asked(colours):
    assert resize_image(colours, 400) is colours
    assert resize_image(colours, 100, enlarge=True).shape == (60, 100, 3)
    assert resize_image(np.zeros((1, 40_000, 3), np.uint8), 100).shape == (1, 100, 3)


@pytest.fixture
def turned_jpeg(tmp_path):
    """A smooth picture (1200, 900, 3) as it is displayed, and a JPEG file that holds it lying on its side."""
    rows, columns = np.mgrid[0:900, 0:1200]
    picture = np.stack([rows / 4, columns / 5, (rows + columns) / 9], axis=-1).astype(np.uint8)
    exif = Image.Exif()
    exif[0x0112] = 6  # a quarter turn
    Image.fromarray(picture).save(tmp_path / "a.jpg", quality=95, exif=exif)
    return Image.fromarray(np.rot90(picture, -1)), tmp_path / "a.jpg"


# An eighth of the file reduced further; a quarter as it is, because it is close enough.
@pytest.mark.parametrize(("longest", "shape"), [(100, (100, 75)), (320, (300, 225))])
def test_jpeg_decoded_small_looks_like_the_whole_one_reduced(turned_jpeg, longest, shape):
    picture, path = turned_jpeg
    small, whole = read_small_image(path, longest), picture.resize(shape[::-1], Image.Resampling.BOX)
    assert small.shape == (*shape, 3)
    assert np.abs(small - np.asarray(whole, dtype=float)).mean() < 2
    light, size = read_light(path, longest)
    assert light.shape == shape
    assert size == (1200, 900)
    assert np.abs(light - np.asarray(whole.convert("L"), dtype=float)).mean() < 2


def test_light_of_other_files_is_that_of_the_picture(tmp_path, colours):
    for extension in ("png", "tif"):
        Image.fromarray(colours).save(tmp_path / f"a.{extension}")
        light, size = read_light(tmp_path / f"a.{extension}", 1000)
        np.testing.assert_array_equal(light, np.asarray(Image.fromarray(colours).convert("L")))
        assert size == colours.shape[:2]


def test_a_large_turned_jpeg_is_decoded_at_half_its_size(turned_jpeg):
    path = turned_jpeg[1]
    image, shape = read_enough(path, 600)
    assert (image.shape[:2], shape) == ((600, 450), (1200, 900))
    for size in (150, 400):
        gap = resize_image(image, size).astype(float) - resize_image(read_image(path), size)
        assert np.abs(gap).mean() < 0.5
    assert read_enough(path, 601)[0].shape == (1200, 900, 3)
