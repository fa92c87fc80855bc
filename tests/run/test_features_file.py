"""Features are rounded once, before anything uses them; their files hold the same numbers in half of the bytes."""

import numpy as np
import pytest

from segvote.features.base import check_outputs
from segvote.io.arrays import read_arrays
from segvote.run.features import read_features, read_matches, write_features

VALUES = np.random.default_rng(0).gamma(2, 3, (50, 7))


def test_rounded_features_are_written_in_half_of_the_bytes(tmp_path):
    rounded = check_outputs(VALUES, "cow.jpg", "color", is_rounded=True)
    assert rounded.dtype == np.float32
    np.testing.assert_array_equal(rounded, VALUES.astype(np.float32).astype(np.float16))
    write_features(tmp_path / "a.npz", rounded)
    assert read_arrays(tmp_path / "a.npz")["features"].dtype == np.float16
    np.testing.assert_array_equal(read_features(tmp_path / "a.npz"), rounded)
    assert len(read_matches(tmp_path / "a.npz")) == 0


@pytest.mark.parametrize("values", [VALUES, 1e6 * VALUES], ids=["not rounded", "too large"])
def test_others_are_written_as_they_are(tmp_path, values):
    features = check_outputs(values, "cow.jpg", "color", is_rounded=values is not VALUES)
    np.testing.assert_array_equal(features, values.astype(np.float32))
    write_features(tmp_path / "a.npz", features, np.arange(3))
    assert read_arrays(tmp_path / "a.npz")["features"].dtype == np.float32
    np.testing.assert_array_equal(read_features(tmp_path / "a.npz"), features)
    np.testing.assert_array_equal(read_matches(tmp_path / "a.npz"), np.arange(3))
