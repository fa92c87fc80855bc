"""Arrays are read by many threads at once: of a review's page, and of masks that are redrawn."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from segvote.errors import DamagedFileError
from segvote.io.arrays import read_arrays, write_arrays


def test_one_thread_at_a_time_parses_headers(tmp_path, monkeypatch):
    """Where two do, CPython 3.11 raises SystemError now and then: rarely enough to pass for luck."""
    path, load, inside, counts = tmp_path / "a.npz", np.load, set(), []

    def load_slowly(*args, **kwargs):
        inside.add(threading.get_ident())
        counts.append(len(inside))
        time.sleep(0.01)
        inside.remove(threading.get_ident())
        return load(*args, **kwargs)

    write_arrays(path, a=np.arange(3))
    monkeypatch.setattr(np, "load", load_slowly)
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda _: read_arrays(path), range(8)))
    assert counts == [1] * 8


def test_many_threads_read_at_once(tmp_path):
    path = tmp_path / "a.npz"
    write_arrays(path, **{f"a{number}": np.arange(number) for number in range(40)})
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda _: read_arrays(path), range(100)))
    assert all(len(arrays["a7"]) == 7 for arrays in found)


def test_a_file_that_is_not_there_is_named(tmp_path):
    """Somebody clears `features/` to make room, and asks for an explanation."""
    with pytest.raises(DamagedFileError, match=r"gone\.npz is missing"):
        read_arrays(tmp_path / "gone.npz")


@pytest.mark.parametrize(
    "array",
    [
        np.arange(6, dtype=np.uint16).reshape(2, 3),
        np.asfortranarray(np.arange(6.0).reshape(2, 3)),
        np.array(3.5),
        np.zeros((0, 2), dtype=np.int32),
        np.array([True, False]),
        np.array(["a", "bc"]),
        np.arange(3, dtype=">i4"),
        np.zeros(300_000),
    ],
    ids=["plain", "columns first", "one number", "empty", "truth values", "text", "other byte order", "large"],
)
def test_an_array_is_read_as_numpy_reads_it(tmp_path, array):
    write_arrays(tmp_path / "x.npz", compress=True, array=array, again=array)
    found = read_arrays(tmp_path / "x.npz")
    with np.load(tmp_path / "x.npz") as wanted:
        for name in ("array", "again"):
            assert found[name].dtype == wanted[name].dtype
            assert found[name].flags.writeable
            np.testing.assert_array_equal(found[name], wanted[name], strict=True)
