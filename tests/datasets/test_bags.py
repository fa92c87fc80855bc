import numpy as np
import pytest
from scipy.spatial.distance import cdist

from segvote.datasets.bags import make_bags
from segvote.metrics import average_precision


def test_shapes_and_counts_are_those_asked_for():
    X, y, bags, truth = make_bags(n_with=5, n_without=7, n_segments=20, n_object=3, n_odd=2, n_dims=9)
    assert X.shape == (240, 9) and X.dtype == np.float64
    assert np.bincount(bags).tolist() == [20] * 12
    assert np.bincount(bags, truth).tolist() == [3] * 5 + [0] * 7
    assert np.array_equal(y == 1, bags < 5)


def test_equal_seeds_give_equal_bags():
    for one, other in zip(make_bags(seed=3), make_bags(seed=3), strict=True):
        assert np.array_equal(one, other)
    assert not np.array_equal(make_bags(seed=3)[0], make_bags(seed=4)[0])


@pytest.mark.parametrize("seed", range(2))
def test_the_segment_farthest_from_negatives_is_not_the_object(seed):
    X, y, _, truth = make_bags(seed=seed)
    scores = cdist(X[y == 1], X[y == 0]).min(axis=1)  # NegMin
    assert average_precision(scores, truth[y == 1]) < 0.5


@pytest.mark.parametrize("seed", range(2))
def test_only_the_object_repeats_in_with_bags(seed):
    X, y, bags, truth = make_bags(seed=seed)
    distances = cdist(X[y == 1], X)
    distances[bags[y == 1][:, None] == bags] = np.inf  # one's own bag does not vote
    nearest = np.argsort(distances, axis=1)[:, :20]
    assert average_precision(y[nearest].mean(axis=1), truth[y == 1]) > 0.8
