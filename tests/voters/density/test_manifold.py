"""SSKDE along the manifold: the metric against the full covariance, and that without directions it is SSKDE."""

import numpy as np
import pytest

from segvote.errors import BadInputError
from segvote.kernels import search_neighbours
from segvote.voters.density.manifold import ManifoldSSKDE, learn_tangents
from segvote.voters.density.sskde import SSKDE


def test_the_distance_is_that_of_the_covariance_of_the_neighbours(rng):
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


def test_without_directions_it_is_sskde(planted):
    data = planted.X, planted.y, planted.bags
    np.testing.assert_allclose(ManifoldSSKDE(n_tangent=0).fit(*data).scores_, SSKDE().fit(*data).scores_, atol=1e-6)


def test_labels_spread_farther_along_a_line_than_across_it(rng):
    """Two parallel lines of segments: beside a point of one line lies the other line, nearer than its own next ones."""
    along = np.arange(40) / 10
    lines = np.concatenate([np.column_stack([along, np.full(40, gap)]) for gap in (0.0, 0.25)])
    bags = np.arange(80)
    indices = search_neighbours(lines, lines, 6, bags, bags)[1]
    own = np.array([[other if other // 40 == one // 40 else -1 for other in row] for one, row in enumerate(indices)])
    tangents = learn_tangents(lines, own, 1)
    pairs = np.array([[25, 60]])  # 0.5 along the line of segment 20; 0.25 across
    gaps = ((lines[20] - lines[pairs[0]]) ** 2).sum(axis=1)[None]
    here, across = tangents.shorten(lines[[20]], lines, gaps, pairs)[0]
    assert gaps[0, 0] > gaps[0, 1] and here < across


def test_directions_below_zero_are_refused(planted):
    with pytest.raises(BadInputError, match="n_tangent"):
        ManifoldSSKDE(n_tangent=-1).fit(planted.X, planted.y, bags=planted.bags)
