"""Features are rounded once, before anything uses them; their files hold the same numbers in three bytes each."""

import numpy as np
import pytest

from segvote.errors import BadInputError, DamagedFileError
from segvote.features.base import check_outputs
from segvote.io.arrays import read_arrays, write_arrays
from segvote.numerics.rounding import round_numbers
from segvote.run.features import read_features, read_matches, write_features

VALUES = np.random.default_rng(0).normal(0, 10.0 ** np.arange(-3, 4), (50, 7)).astype(np.float32)


def round_plainly(value):
    """The nearest number with sixteen binary digits, the even one of two."""
    if value == 0:
        return 0.0
    fraction, exponent = np.frexp(np.float64(value))
    return np.ldexp(np.round(fraction * 2**16), exponent - 16)


def test_numbers_are_rounded_to_sixteen_digits():
    halfway = np.float32([1 + 2.0**-16, 1 + 3 * 2.0**-16, -1 - 2.0**-16])
    for values in (VALUES.ravel(), np.zeros(1, np.float32), halfway):
        np.testing.assert_array_equal(round_numbers(values), [round_plainly(value) for value in values])


def test_files_hold_the_numbers_that_everything_uses(tmp_path):
    features = check_outputs(VALUES, "cow.jpg", "color")
    assert features.dtype == np.float32 and not np.array_equal(features, VALUES)
    np.testing.assert_array_equal(round_numbers(features), features)
    write_features(tmp_path / "a.npz", features)
    np.testing.assert_array_equal(read_features(tmp_path / "a.npz"), features)
    assert read_features(tmp_path / "a.npz").dtype == np.float32
    assert read_arrays(tmp_path / "a.npz")["features"].nbytes == 3 * VALUES.size
    assert len(read_matches(tmp_path / "a.npz")) == 0
    write_features(tmp_path / "b.npz", features[:0], np.arange(3))
    assert read_features(tmp_path / "b.npz").shape == (0, 7)
    np.testing.assert_array_equal(read_matches(tmp_path / "b.npz"), np.arange(3))


@pytest.mark.parametrize(
    "value", [np.nan, np.inf, np.finfo(np.float32).max, 1e300, np.uint32(0x7FFFFFFF).view(np.float32)]
)
def test_a_number_that_is_too_large_is_an_error(value):
    with pytest.raises(BadInputError, match="not finite"):
        check_outputs(np.array([[1.0, value]]), "cow.jpg", "color")


@pytest.mark.parametrize("arrays", [{}, {"features": VALUES}, {"features": np.zeros((5, 7, 4), np.uint8)}])
def test_a_file_of_another_content_is_damaged(tmp_path, arrays):
    write_arrays(tmp_path / "a.npz", **arrays)
    with pytest.raises(DamagedFileError, match=r"a\.npz holds no features"):
        read_features(tmp_path / "a.npz")
