"""Formats that need a plugin: read where it is there, else named with their count and what to install."""

import sys
from types import ModuleType

import pytest
from PIL import Image

from segvote.io import picture_formats
from segvote.io.images import list_images, read_image
from segvote.io.picture_formats import count_extensions, describe_skipped


@pytest.fixture
def forget():
    """What was found out about plugins, forgotten before and after."""
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
    told = describe_skipped(count_extensions(tmp_path))
    assert told["HEIF"] == "3 HEIF files skipped; `pip install pillow-heif` reads them"
    assert told["camera RAW"] == "1 camera RAW file skipped; convert them to TIFF or JPEG"
    assert list_images(tmp_path) == []


def test_heic_is_read_when_its_plugin_can_be_imported(tmp_path, monkeypatch, forget):
    plugin = ModuleType("pillow_heif")

    def register_heif_opener():
        Image.register_open("HEIF", Image.OPEN["PNG"][0], lambda prefix: prefix.startswith(b"\x89PNG"))

    plugin.register_heif_opener = register_heif_opener
    monkeypatch.setitem(sys.modules, "pillow_heif", plugin)
    monkeypatch.setattr(picture_formats.importlib.util, "find_spec", lambda name: plugin)
    Image.init()  # or the plugins would be loaded into the copy alone
    monkeypatch.setattr(Image, "OPEN", dict(Image.OPEN))
    monkeypatch.setattr(Image, "ID", list(Image.ID))
    Image.new("RGB", (4, 4), (1, 2, 3)).save(tmp_path / "a.png")
    (tmp_path / "a.png").rename(tmp_path / "a.heic")
    assert "HEIF" in picture_formats.list_formats()
    assert [path.name for path in list_images(tmp_path)] == ["a.heic"]
    assert read_image(tmp_path / "a.heic")[0, 0].tolist() == [1, 2, 3]


@pytest.mark.skipif(".avif" not in picture_formats.list_readable_extensions(), reason="this Pillow reads no AVIF")
def test_avif_is_read_by_a_pillow_that_can(tmp_path):
    Image.new("RGB", (16, 16), (200, 20, 20)).save(tmp_path / "a.avif")
    assert [path.name for path in list_images(tmp_path)] == ["a.avif"]
    assert abs(int(read_image(tmp_path / "a.avif")[8, 8, 0]) - 200) < 12
