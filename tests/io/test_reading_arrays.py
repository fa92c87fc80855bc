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
