"""Readers take regular files only: a pipe in the place of one is not waited for, a device is not read to its end."""

import os
import tracemalloc
import zipfile
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from segvote.errors import DamagedFileError, SegvoteError
from segvote.io.arrays import read_arrays, write_arrays
from segvote.io.files import open_regular
from segvote.io.images import hash_file, read_image, read_image_size
from segvote.io.imports import read_any
from segvote.io.imports.cvat import read_cvat_xml
from segvote.io.imports.label_tools import read_labelme
from segvote.io.tables import read_csv, read_json

READERS = {
    "arrays": read_arrays,
    "csv": read_csv,
    "cvat": lambda path: list(read_cvat_xml(path)),
    "hash": hash_file,
    "image": read_image,
    "json": read_json,
    "labelme": lambda path: list(read_labelme(path.parent)),
    "any": lambda path: list(read_any(path)),
}


@pytest.mark.parametrize("kind", ["pipe", "/dev/zero", "/dev/null", "folder"])
@pytest.mark.parametrize("reader", READERS)
def test_what_is_no_regular_file_is_refused_at_once(tmp_path, reader, kind):
    path = tmp_path / "strange.json"
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "folder":
        (path / "one.json").mkdir(parents=True)
    else:
        path.symlink_to(kind)
    with pytest.raises((SegvoteError, FileNotFoundError)):
        READERS[reader](path)


def test_a_regular_file_is_opened_through_a_link(tmp_path):
    (tmp_path / "a").write_bytes(b"text")
    (tmp_path / "b").symlink_to("a")
    with open_regular(tmp_path / "b") as file:
        assert file.read() == b"text"


def test_arrays_that_unpack_to_more_than_the_budget_are_refused(tmp_path, monkeypatch):
    monkeypatch.setenv("SEGVOTE_READ_MB", "8")
    path = tmp_path / "a.npz"
    write_arrays(path, compress=True, much=np.zeros(20 << 20, np.uint8), little=np.zeros(3))
    assert path.stat().st_size < 200_000
    tracemalloc.start()
    with pytest.raises(DamagedFileError, match="SEGVOTE_READ_MB"):
        read_arrays(path)
    assert tracemalloc.get_traced_memory()[1] < 4 << 20
    tracemalloc.stop()
    assert list(read_arrays(path, ("little",))) == ["little"]


def test_arrays_as_large_on_disk_are_always_read(tmp_path, monkeypatch):
    monkeypatch.setenv("SEGVOTE_READ_MB", "1")
    values = np.random.default_rng(0).bytes(3 << 20)
    write_arrays(tmp_path / "a.npz", a=np.frombuffer(values, np.uint8))
    assert read_arrays(tmp_path / "a.npz")["a"].tobytes() == values


def test_a_file_of_holes_is_not_as_large_as_it_says(tmp_path, monkeypatch):
    monkeypatch.setenv("SEGVOTE_READ_MB", "8")
    path = tmp_path / "a.npz"
    header = np.lib.format.header_data_from_array_1_0(np.zeros(1)) | {"shape": (4 << 20,)}
    with path.open("wb") as file, zipfile.ZipFile(file, "w") as archive, archive.open("a.npy", "w") as member:
        np.lib.format.write_array_header_1_0(member, header)
        member.write(bytes(32 << 20))
    data = path.read_bytes()
    with path.open("wb") as file:  # the same bytes, zeros left out
        for start in range(0, len(data), 4096):
            block = data[start : start + 4096]
            file.seek(start)
            if block.strip(b"\0"):
                file.write(block)
    if path.stat().st_blocks * 512 > 8 << 20:
        pytest.skip("this file system keeps no holes")
    with pytest.raises(DamagedFileError, match="SEGVOTE_READ_MB"):
        read_arrays(path)


class CountedFile:
    """Counts how often a file is read."""

    def __init__(self, file):
        self.file, self.n_reads = file, 0

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.file.close()

    def seek(self, *place):
        return self.file.seek(*place)

    def read(self, n_bytes):
        self.n_reads += 1
        return self.file.read(n_bytes)


def test_what_lies_behind_the_end_of_a_png_is_not_looked_at(tmp_path, monkeypatch):
    path, opened = tmp_path / "a.png", []
    Image.new("RGB", (20, 10)).save(path)
    with path.open("ab") as file:
        file.truncate(path.stat().st_size + 5_000_000)

    def count(name, mode):
        opened.append(CountedFile(Path(name).open(mode)))  # noqa: SIM115, closed by its owner
        return opened[-1]

    monkeypatch.setattr("segvote.io.decoding.open", count, raising=False)
    assert read_image_size(path) == (10, 20)
    assert opened and sum(file.n_reads for file in opened) < 20
