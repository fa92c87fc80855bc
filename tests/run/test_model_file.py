"""The files of a model: features to within half a step, everything else as it was written."""

import numpy as np
import pytest

from segvote.errors import BadInputError, DamagedFileError
from segvote.run.model_file import add_prefix, read_model_file, select_arrays, write_model_extent, write_model_file
from segvote.run.run_folder import RunFolder
from segvote.settings import Settings


@pytest.fixture
def run(tmp_path):
    X = np.random.default_rng(0).normal(size=(5, 3)).astype(np.float32)
    folder = RunFolder(tmp_path)
    write_model_file(folder, X, add_prefix("method", {"inside": np.arange(3)}), Settings(label="cup"), {"a": 1}, 2)
    return folder


def test_a_model_is_read_as_it_was_written(run):
    stored = read_model_file(run.path)
    assert (stored.settings.label, stored.features, stored.extent) == ("cup", {"a": 1}, 2)
    np.testing.assert_array_equal(select_arrays(stored.arrays, "method")["inside"], np.arange(3))
    assert stored.arrays["X"].shape == (5, 3)
    assert read_model_file(run.model_path).folder == run.model_path


def test_the_extent_of_a_model_can_be_changed(run):
    write_model_extent(run, 5)
    assert read_model_file(run.path).extent == 5


def test_other_arrays_than_those_of_the_record_are_refused(run):
    path = run.model_path / "model.safetensors"
    path.write_bytes(path.read_bytes() + b" ")
    with pytest.raises(DamagedFileError, match="checksum"):
        read_model_file(run.path)


def test_a_folder_without_a_model_is_named(tmp_path):
    with pytest.raises(BadInputError, match="no model in"):
        read_model_file(tmp_path / "nothing")
