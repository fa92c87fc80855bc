"""kNN-to-negatives: mean distance, NegMin for one neighbour."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from segvote.errors import BadInputError
from segvote.kernels import Neighbours
from segvote.voters.negative.knn_negatives import KNNNegatives
from segvote.voters.negative.negatives import NegMin


def test_the_vote_is_the_mean_distance_to_the_nearest_negatives_of_other_bags(planted):
    fitted = KNNNegatives(n_neighbors=3).fit(planted.X, planted.y, bags=planted.bags)
    distances = cdist(planted.X, planted.X)
    counted = (planted.y == 0)[None, :] & (planted.bags[:, None] != planted.bags)
    expected = np.sort(np.where(counted, distances, np.inf), axis=1)[:, :3].mean(axis=1)
    np.testing.assert_allclose(fitted.scores_ + fitted.threshold_, expected, rtol=1e-5)


def test_with_one_neighbour_it_is_negmin(planted):
    one = KNNNegatives(n_neighbors=1).fit(planted.X, planted.y, bags=planted.bags)
    np.testing.assert_allclose(one.scores_, NegMin().fit(planted.X, planted.y, bags=planted.bags).scores_)


def test_fewer_negatives_than_neighbours_are_all_heard():
    X = np.array([[0.0], [1.0], [3.0]])
    fitted = KNNNegatives(n_neighbors=5).fit(X, [1, 0, 0])
    assert fitted.scores_[0] + fitted.threshold_ == pytest.approx(2.0)


def test_no_neighbour_is_refused(planted):
    with pytest.raises(BadInputError, match="n_neighbors"):
        KNNNegatives(n_neighbors=0).fit(planted.X, planted.y, bags=planted.bags)


@pytest.mark.parametrize("k", [1, 5, 40])
def test_known_neighbours_give_negative_mining_the_same_scores(planted, k):
    known = Neighbours.search(planted.X, k, planted.bags)
    told = NegMin().take_neighbours(known).fit(planted.X, planted.y, bags=planted.bags)
    searched = NegMin().fit(planted.X, planted.y, bags=planted.bags)
    np.testing.assert_allclose(told.scores_, searched.scores_, atol=1e-6)
