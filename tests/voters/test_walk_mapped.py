"""Features that are mapped from a file vote like those in memory."""

import os

import numpy as np
import pytest

from segvote.datasets import make_bags
from segvote.kernels import Neighbours, Workspace, neighbours
from segvote.voters.walk import Walk


def test_features_mapped_from_a_file_vote_alike(tmp_path, monkeypatch):
    X, y, bags, _ = make_bags(n_with=30, n_without=30, n_segments=40)
    np.save(tmp_path / "X.npy", X.astype(np.float32))
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    for pairs in (neighbours.EXACT_PAIRS, 0):
        monkeypatch.setattr(neighbours, "EXACT_PAIRS", pairs)
        far, near = (Walk().fit(one, y, bags=bags) for one in (mapped, np.array(mapped)))
        np.testing.assert_array_equal(far.scores_, near.scores_)
        assert np.shares_memory(far._segments.X, mapped)


@pytest.mark.parametrize("pairs", [0, np.inf], ids=["approximate", "exact"])
def test_votes_that_lie_in_files_are_counted_alike(pairs, tmp_path, monkeypatch):
    X, y, bags, _ = make_bags(n_with=30, n_without=30, n_segments=40)
    monkeypatch.setattr(neighbours, "EXACT_PAIRS", pairs)
    X = X.astype(np.float32)
    near, far = Walk().fit(X, y, bags=bags), Walk()
    far.take_neighbours(Neighbours.search(X, far.n_searched, bags, Workspace(tmp_path))).fit(X, y, bags=bags)
    assert len(os.listdir(tmp_path)) == 2  # the votes, and whose they are
    for ask in (
        lambda voter: voter.scores_,
        lambda voter: voter.weights_,
        lambda voter: voter.explain(7).bag_amounts,
    ):
        np.testing.assert_array_equal(ask(far), ask(near))
