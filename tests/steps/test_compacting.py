"""A byte per number: small, and the votes stay where they were, within the stated bound."""

import json

import numpy as np
import pytest
from safetensors.numpy import load_file, save

from segvote.errors import BadInputError
from segvote.steps.prediction.compacting import STEPS, pack, unpack
from segvote.steps.prediction.model import OLDEST_VERSION, read_model
from segvote.steps.reopening import reopen


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def test_numbers_come_back_to_within_half_a_step(rng):
    X = rng.normal(size=(50, 30)).astype(np.float32) * rng.uniform(1e-6, 1e3, (50, 1)).astype(np.float32)
    codes, scales = pack(X)
    assert (codes.dtype, codes.shape, scales.shape) == (np.int8, X.shape, (50,))
    assert np.all(np.abs(unpack(codes, scales) - X) <= 0.501 * scales[:, None])
    assert np.abs(codes).max() == STEPS


def test_a_segment_of_nothing_stays_nothing():
    codes, scales = pack(np.zeros((2, 3), np.float32))
    np.testing.assert_array_equal(unpack(codes, scales), np.zeros((2, 3)))
    assert np.isfinite(scales).all()


def test_packing_again_changes_nothing(rng):
    codes, scales = pack(rng.normal(size=(20, 8)).astype(np.float32))
    again, _ = pack(unpack(codes, scales))
    np.testing.assert_array_equal(again, codes)


def test_votes_change_by_less_than_the_stated_bound(finished_run):
    """Every training segment, asked as a stranger of its own bag, by the run's voter and by the model's."""
    table = reopen(finished_run).table
    voter = read_model(finished_run.folder.path).restore()
    exact = read_model(finished_run.folder.path).restore()
    exact._table.X[:] = table.X
    votes = [one.decision_function(table.X, table.bags) for one in (voter, exact)]
    change = np.abs(votes[0] - votes[1])
    assert change.max() < 0.05
    assert change.mean() < 0.002


def test_the_file_holds_a_byte_for_each_number(finished_run):
    path = finished_run.folder.model_path / "model.safetensors"
    arrays = load_file(path)
    assert arrays["codes"].dtype == np.int8
    assert "X" not in arrays
    assert path.stat().st_size < 1.5 * arrays["codes"].size + 100 * len(arrays["codes"])


def write_old(folder, version):
    """The model as version 2 wrote it: in half precision, without a checksum."""
    path = folder / "model/model.safetensors"
    arrays = load_file(path)
    arrays["X"] = unpack(arrays.pop("codes"), arrays.pop("scales")).astype(np.float16)
    path.write_bytes(save(arrays))
    words = json.loads((folder / "model/model.json").read_text())
    words.pop("sha256", None)
    (folder / "model/model.json").write_text(json.dumps({**words, "version": version}))


def test_a_model_of_the_version_before_is_read(run_copy, finished_run):
    write_old(run_copy, OLDEST_VERSION)
    old, new = read_model(run_copy), read_model(finished_run.folder.path)
    np.testing.assert_allclose(old.arrays["X"].astype(np.float32), new.arrays["X"], atol=1e-3)


def test_an_older_one_says_why_not(run_copy):
    write_old(run_copy, OLDEST_VERSION - 1)
    with pytest.raises(BadInputError, match="segments nothing anew"):
        read_model(run_copy)
