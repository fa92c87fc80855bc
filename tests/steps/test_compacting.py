"""A byte per number: small, and the votes stay where they were, within the stated bound."""

from dataclasses import replace

import numpy as np
from safetensors.numpy import load_file

from segvote.method.vote import link_unseen, score_linked
from segvote.steps.model import STEPS, pack, read_model, unpack
from segvote.steps.predictor import Predictor
from segvote.steps.reopening import reopen


def test_numbers_come_back_to_within_half_a_step():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 30)).astype(np.float32) * rng.uniform(1e-6, 1e3, (50, 1)).astype(np.float32)
    codes, scales = pack(X)
    assert (codes.dtype, codes.shape, scales.shape) == (np.int8, X.shape, (50,))
    assert np.all(np.abs(unpack(codes, scales) - X) <= 0.501 * scales[:, None])
    assert np.abs(codes).max() == STEPS
    np.testing.assert_array_equal(pack(unpack(codes, scales))[0], codes)
    np.testing.assert_array_equal(unpack(*pack(np.zeros((2, 3), np.float32))), np.zeros((2, 3)))


def test_votes_change_by_less_than_the_stated_bound(finished_run):
    """Every training segment, scored as one of another image, by the exact features and by those of the model."""
    table = reopen(finished_run).table
    packed = Predictor(read_model(finished_run.folder.path)).training
    exact = replace(packed, table=replace(packed.table, X=table.X))
    votes = [score_linked(one, table.X, link_unseen(one, table.X, table.bags)) for one in (packed, exact)]
    change = np.abs(votes[0] - votes[1])
    assert change.max() < 0.05
    assert change.mean() < 0.002


def test_the_file_holds_a_byte_for_each_number(finished_run):
    path = finished_run.folder.model_path / "model.safetensors"
    arrays = load_file(path)
    assert arrays["codes"].dtype == np.int8
    assert "X" not in arrays
    assert path.stat().st_size < 1.5 * arrays["codes"].size + 100 * len(arrays["codes"])
