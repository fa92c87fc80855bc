"""Files of arrays: plain .npz, the same bytes for the same arrays, compressed at the level that is asked for."""

import zipfile
import zlib

import numpy as np

from segvote.io.arrays import COMPRESS_LEVEL, read_arrays, write_arrays

LABELS = np.repeat(np.arange(60, dtype=np.uint16), 50).reshape(60, 50) // 7
ARRAYS = {"labels": LABELS, "areas": np.bincount(LABELS.ravel()), "colours": np.linspace(0, 1, 30).reshape(10, 3)}


def test_numpy_opens_what_is_written(tmp_path):
    for compress in (False, True):
        write_arrays(tmp_path / "a.npz", compress, **ARRAYS)
        with np.load(tmp_path / "a.npz") as archive:
            assert {name: archive[name].tobytes() for name in archive} == {n: a.tobytes() for n, a in ARRAYS.items()}
        assert list(read_arrays(tmp_path / "a.npz")) == list(ARRAYS)


def test_equal_arrays_give_equal_bytes_at_any_time(tmp_path, monkeypatch):
    write_arrays(tmp_path / "now.npz", True, **ARRAYS)
    monkeypatch.setattr("time.time", lambda: 2e9)
    write_arrays(tmp_path / "later.npz", True, **ARRAYS)
    assert (tmp_path / "now.npz").read_bytes() == (tmp_path / "later.npz").read_bytes()


def test_members_are_compressed_at_the_level_asked_for(tmp_path):
    """zipfile takes its default level for members it is handed ready made: four times as slow."""
    rough = np.random.default_rng(0).integers(0, 9, 20_000).astype(np.uint16)
    write_arrays(tmp_path / "a.npz", True, rough=rough)
    with zipfile.ZipFile(tmp_path / "a.npz") as archive:
        info, raw = archive.getinfo("rough.npy"), archive.read("rough.npy")
    sizes = [len(zlib.compress(raw, level)) for level in (COMPRESS_LEVEL, zlib.Z_DEFAULT_COMPRESSION)]
    assert abs(info.compress_size - sizes[0]) < abs(info.compress_size - sizes[1])
