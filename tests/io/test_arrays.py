"""Arrays in files: as numpy reads and writes them, the same bytes for the same arrays, within the memory budget."""

import tracemalloc

import numpy as np
import pytest
from scipy.io import savemat

from segvote.errors import BadInputError, DamagedFileError
from segvote.io.arrays import read_arrays, read_ucm, write_arrays

LABELS = np.repeat(np.arange(60, dtype=np.uint16), 50).reshape(60, 50) // 7
KINDS = {
    "plain": np.arange(6, dtype=np.uint16).reshape(2, 3),
    "columns first": np.asfortranarray(np.arange(6.0).reshape(2, 3)),
    "one number": np.array(3.5),
    "empty": np.zeros((0, 2), dtype=np.int32),
    "truth values": np.array([True, False]),
    "text": np.array(["a", "bc"]),
    "other byte order": np.arange(3, dtype=">i4"),
    "large": np.zeros(300_000),
}


@pytest.mark.parametrize("compress", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_an_array_is_read_as_numpy_reads_it(tmp_path, kind, compress):
    write_arrays(tmp_path / "x.npz", compress, array=KINDS[kind], again=KINDS[kind])
    found = read_arrays(tmp_path / "x.npz")
    with np.load(tmp_path / "x.npz") as wanted:
        assert list(found) == list(wanted)
        for name in found:
            assert found[name].flags.writeable
            np.testing.assert_array_equal(found[name], wanted[name], strict=True)


def test_equal_arrays_give_equal_bytes_at_any_time(tmp_path, monkeypatch):
    write_arrays(tmp_path / "now.npz", True, labels=LABELS)
    monkeypatch.setattr("time.time", lambda: 2e9)
    write_arrays(tmp_path / "later.npz", True, labels=LABELS)
    assert (tmp_path / "now.npz").read_bytes() == (tmp_path / "later.npz").read_bytes()


def test_a_file_that_is_not_there_is_named(tmp_path):
    with pytest.raises(DamagedFileError, match=r"gone\.npz is missing"):
        read_arrays(tmp_path / "gone.npz")


def test_arrays_that_unpack_beyond_the_budget_are_refused(tmp_path, monkeypatch):
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
    write_arrays(path, much=np.random.default_rng(0).random(2 << 20))  # as large on disk
    assert read_arrays(path)["much"].nbytes == 16 << 20


# MATLAB


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.uint8])
def test_a_contour_map_comes_back(tmp_path, dtype):
    ucm2 = (10 * np.random.default_rng(0).random((7, 9))).astype(dtype)
    savemat(tmp_path / "a.mat", {"ucm2": ucm2, "ucm": ucm2[::2]})
    found = read_ucm(tmp_path / "a.mat")
    assert found.dtype == np.float64
    np.testing.assert_array_equal(found, ucm2)


def test_other_and_damaged_matlab_files_are_refused(tmp_path):
    path = tmp_path / "a.mat"
    savemat(path, {"ucm2": np.ones((7, 9))}, do_compression=True)
    packed = path.read_bytes()[:170]
    savemat(path, {"ucm2": np.ones((7, 9))})
    version_7_3 = b"MATLAB 7.3 MAT-file".ljust(124) + b"\x00\x02IM\x89HDF\r\n\x1a\n" + bytes(200)
    contents = {
        packed: "expected a MATLAB file",
        path.read_bytes()[:170]: "expected a MATLAB file",
        b"no MATLAB file at all" * 20: "expected a MATLAB file",
        version_7_3: r"version 7\.3.*-v7",
    }
    for content, reason in contents.items():
        path.write_bytes(content)
        with pytest.raises(BadInputError, match=rf"a\.mat.*{reason}"):
            read_ucm(path)


@pytest.mark.parametrize(
    ("variables", "reason"),
    [
        ({"gPb_orient": np.ones((3, 3))}, "expected the variable 'ucm2', got gPb_orient"),
        ({"ucm2": np.full((3, 3), np.nan)}, "strengths of 0 and above"),
        ({"ucm2": -np.ones((3, 3))}, "strengths of 0 and above"),
        ({"ucm2": np.array([["a", "b"]])}, "strengths of 0 and above"),
    ],
)
def test_variables_that_are_no_contour_map_are_refused(tmp_path, variables, reason):
    savemat(tmp_path / "a.mat", variables)
    with pytest.raises(BadInputError, match=reason):
        read_ucm(tmp_path / "a.mat")
