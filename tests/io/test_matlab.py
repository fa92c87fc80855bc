"""Variables and contour maps are read from MATLAB files, and what is no such file is said so in one line."""

import numpy as np
import pytest
from scipy.io import savemat

from segvote.errors import BadInputError
from segvote.io.arrays import read_ucm


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.uint8])
def test_a_map_comes_back(tmp_path, dtype):
    ucm2 = (10 * np.random.default_rng(0).random((7, 9))).astype(dtype)
    savemat(tmp_path / "a.mat", {"ucm2": ucm2, "ucm": ucm2[::2]})
    found = read_ucm(tmp_path / "a.mat")
    assert found.dtype == np.float64
    np.testing.assert_array_equal(found, ucm2)


@pytest.mark.parametrize("is_compressed", [True, False])
def test_damaged_files_are_refused(tmp_path, is_compressed):
    path = tmp_path / "a.mat"
    savemat(path, {"ucm2": np.ones((7, 9))}, do_compression=is_compressed)
    path.write_bytes(path.read_bytes()[:170])
    with pytest.raises(BadInputError, match=r"a\.mat: expected a MATLAB file"):
        read_ucm(path)


def test_a_file_of_another_kind_is_refused(tmp_path):
    (tmp_path / "a.mat").write_bytes(b"no MATLAB file at all" * 20)
    with pytest.raises(BadInputError, match=r"a\.mat"):
        read_ucm(tmp_path / "a.mat")


def test_version_7_3_is_named_with_its_cure(tmp_path):
    header = b"MATLAB 7.3 MAT-file".ljust(124) + b"\x00\x02IM"
    (tmp_path / "a.mat").write_bytes(header + b"\x89HDF\r\n\x1a\n" + bytes(200))
    with pytest.raises(BadInputError, match=r"version 7\.3.*-v7"):
        read_ucm(tmp_path / "a.mat")


def test_a_file_without_the_map_lists_what_it_has(tmp_path):
    savemat(tmp_path / "a.mat", {"gPb_orient": np.ones((3, 3))})
    with pytest.raises(BadInputError, match="expected the variable 'ucm2', got gPb_orient"):
        read_ucm(tmp_path / "a.mat")


@pytest.mark.parametrize("values", [np.full((3, 3), np.nan), -np.ones((3, 3)), np.array([["a", "b"]])])
def test_what_is_no_strength_is_refused(tmp_path, values):
    savemat(tmp_path / "a.mat", {"ucm2": values})
    with pytest.raises(BadInputError, match="strengths of 0 and above"):
        read_ucm(tmp_path / "a.mat")
