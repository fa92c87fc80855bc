"""eKDE on adapted features: the stretch against its formula, and the walk on what it gives."""

import numpy as np
import pytest

from segvote.errors import BadInputError
from segvote.method.graph import stretch
from segvote.voters.adapted import AdaptedWalk
from segvote.voters.maps.cam import CAM
from segvote.voters.walk import Walk


def test_features_are_stretched_along_the_direction_and_nowhere_else(rng):
    X, u = rng.normal(size=(5, 3)), np.array([0.6, 0.0, 0.8])
    np.testing.assert_allclose(stretch(X, u, 4.0), X @ (np.eye(3) + 3 * np.outer(u, u)))


def test_it_is_the_walk_on_features_stretched_along_the_direction_of_cam(planted):
    data = {"y": planted.y, "bags": planted.bags}
    found = AdaptedWalk(gain=3.0, n_neighbors=10).fit(planted.X, **data)
    u = CAM().fit(planted.X, **data).coef_
    u = u / np.linalg.norm(u)
    expected = Walk(n_neighbors=10).fit(planted.X @ (np.eye(6) + 2 * np.outer(u, u)), **data)
    np.testing.assert_allclose(found.scores_, expected.scores_, atol=1e-5)


def test_a_gain_of_one_is_ekde(planted):
    data = planted.X, planted.y, planted.bags
    np.testing.assert_allclose(AdaptedWalk(gain=1.0).fit(*data).scores_, Walk().fit(*data).scores_, atol=1e-6)


def test_a_gain_of_zero_is_refused(planted):
    with pytest.raises(BadInputError, match="gain"):
        AdaptedWalk(gain=0.0).fit(planted.X, planted.y, bags=planted.bags)
