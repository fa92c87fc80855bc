"""SSKDE: the iteration against the closed form."""

import numpy as np
import pytest

from segvote.voters.sskde import SSKDE


def test_a_segment_called_object_is_a_label_wherever_it_lies(planted):
    user_labels = np.full(len(planted.X), -1)
    user_labels[[0, 200]] = 1
    fitted = SSKDE().fit(planted.X, planted.y, bags=planted.bags, user_labels=user_labels)
    np.testing.assert_array_equal(fitted.labels_[[0, 200]], 1)


@pytest.mark.parametrize("labelled", [0.0, 0.3])
def test_the_iteration_ends_at_the_closed_form(planted, labelled):
    options = {"n_neighbors": 15, "trust_votes": 0.8, "trust_votes_labelled": labelled}
    fitted = SSKDE(**options).fit(planted.X, planted.y, bags=planted.bags)
    K = fitted.graph_.toarray()
    T = np.diag(np.where(planted.y == 1, 0.8, labelled))
    expected = np.linalg.inv(np.eye(len(K)) - T @ K) @ (np.eye(len(K)) - T) @ planted.y
    np.testing.assert_allclose(fitted.labels_, expected, atol=1e-8)
