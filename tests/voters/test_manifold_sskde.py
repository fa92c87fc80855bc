"""SSKDE on a manifold: distances against the covariance, labels against the closed form."""

import numpy as np
import pytest

from segvote.errors import BadInputError
from segvote.numerics import search_neighbours
from segvote.voters.manifold_sskde import ManifoldSSKDE, learn_tangents
from segvote.voters.sskde import SSKDE


def test_distances_are_by_the_covariance_of_the_neighbours(rng):
    X = rng.normal(size=(30, 5))
    found = search_neighbours(X, X, 8, np.arange(30), np.arange(30))
    shortened = learn_tangents(X, found.indices, 2).shorten(X, X, found)
    for i in (0, 7):
        for place, j in enumerate(found.indices[i]):
            gaps = X[found.indices[j]] - X[j]
            values, axes = np.linalg.eigh(gaps.T @ gaps / 8)
            rest = values[:-2].sum() / (8 - 2)
            covariance = rest * np.eye(5) + (axes[:, -2:] * values[-2:]) @ axes[:, -2:].T
            gap = X[i] - X[j]
            assert shortened[i, place] == pytest.approx(rest * gap @ np.linalg.inv(covariance) @ gap, rel=1e-4)


def test_labels_on_the_manifold_are_the_closed_form(planted):
    fitted = ManifoldSSKDE(n_neighbors=15, trust_votes=0.8).fit(planted.X, planted.y, bags=planted.bags)
    K = fitted.graph_.toarray()
    T = np.diag(np.where(planted.y == 1, 0.8, 0.0))
    expected = np.linalg.inv(np.eye(len(K)) - T @ K) @ (np.eye(len(K)) - T) @ planted.y
    np.testing.assert_allclose(fitted.labels_, expected, atol=1e-8)


def test_without_tangents_it_is_sskde(planted):
    flat, plain = ManifoldSSKDE(n_tangent=0), SSKDE()
    for voter in (flat, plain):
        voter.fit(planted.X, planted.y, bags=planted.bags)
    np.testing.assert_allclose(flat.scores_, plain.scores_, atol=1e-9)


def test_a_manifold_needs_neighbours_to_learn_from(planted):
    with pytest.raises(BadInputError, match="n_local"):
        ManifoldSSKDE(n_local=0).fit(planted.X, planted.y, bags=planted.bags)
