"""Features that are mapped from a file vote like those in memory."""

import numpy as np

from segvote.datasets import make_bags
from segvote.kernels import neighbours
from segvote.voting.ekde import EKDE


def test_features_mapped_from_a_file_vote_alike(tmp_path, monkeypatch):
    X, y, bags, _ = make_bags(n_with=30, n_without=30, n_segments=40)
    np.save(tmp_path / "X.npy", X.astype(np.float32))
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    for pairs in (neighbours.EXACT_PAIRS, 0):
        monkeypatch.setattr(neighbours, "EXACT_PAIRS", pairs)
        far, near = (EKDE().fit(one, y, bags=bags) for one in (mapped, np.array(mapped)))
        np.testing.assert_array_equal(far.scores_, near.scores_)
        assert np.shares_memory(far._segments.X, mapped)
