"""SSKDE, along the manifold too: the iteration against the closed form and plain formulas."""

import numpy as np
import pytest

from segvote.kernels import search_neighbours
from segvote.voters.sskde import SSKDE, learn_tangents


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


def test_the_distance_is_by_the_covariance_of_neighbours(rng):
    X = rng.normal(size=(30, 5))
    squared, indices = search_neighbours(X, X, 8, np.arange(30), np.arange(30))
    found = learn_tangents(X, indices, 2).shorten(X, X, squared, indices)
    for i in (0, 7):
        for place, j in enumerate(indices[i]):
            gaps = X[indices[j]] - X[j]
            values, axes = np.linalg.eigh(gaps.T @ gaps / 8)
            rest = values[:-2].sum() / (8 - 2)
            covariance = rest * np.eye(5) + (axes[:, -2:] * values[-2:]) @ axes[:, -2:].T
            gap = X[i] - X[j]
            assert found[i, place] == pytest.approx(rest * gap @ np.linalg.inv(covariance) @ gap, rel=1e-4)
