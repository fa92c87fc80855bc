"""Formats that need a plugin: read with it, else named with their count and advice."""

import sys

import pytest
from PIL import Image

from segvote.io import picture_formats
from segvote.io.images import list_images, read_image
from segvote.io.picture_formats import count_extensions, describe_skipped


@pytest.fixture
def forget():
    """Forget the known plugins before and after."""
    caches = (picture_formats._register, picture_formats.list_formats, picture_formats.list_readable_extensions)
    for one in caches:
        one.cache_clear()
    yield
    for one in caches:
        one.cache_clear()


def test_heic_without_its_plugin_names_the_plugin(tmp_path, monkeypatch, forget):
    monkeypatch.setitem(sys.modules, "pillow_heif", None)
    monkeypatch.setattr(picture_formats.importlib.util, "find_spec", lambda name: None)
    for name in ("a.heic", "b.HEIC", "c.heif", "d.nef", "e.txt"):
        (tmp_path / name).write_bytes(b"x")
    skipped = describe_skipped(count_extensions(tmp_path))
    assert skipped["HEIF"] == "3 HEIF files skipped; `pip install pillow-heif` reads them"
    assert skipped["camera RAW"] == "1 camera RAW file skipped; convert them to TIFF or JPEG"
    assert list_images(tmp_path) == []


@pytest.mark.skipif(".avif" not in picture_formats.list_readable_extensions(), reason="this Pillow reads no AVIF")
def test_avif_is_read_by_a_pillow_that_can(tmp_path):
    Image.new("RGB", (16, 16), (200, 20, 20)).save(tmp_path / "a.avif")
    assert [path.name for path in list_images(tmp_path)] == ["a.avif"]
    assert abs(int(read_image(tmp_path / "a.avif")[8, 8, 0]) - 200) < 12
