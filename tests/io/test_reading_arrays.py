"""Arrays are read by many threads at once: of a review's page, and of masks that are redrawn."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np

from segvote.io.arrays import read_arrays, write_arrays


def test_many_threads_read_at_once(tmp_path):
    """Without a lock CPython 3.11 raises SystemError now and then."""
    path = tmp_path / "a.npz"
    write_arrays(path, **{f"a{number}": np.arange(number) for number in range(40)})
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda _: read_arrays(path), range(100)))
    assert all(len(arrays["a7"]) == 7 for arrays in found)
