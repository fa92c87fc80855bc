"""SSKDE: the iteration ends where the closed form is, and corrections are its labels."""

import numpy as np
import pytest

from segvote.errors import BadInputError
from segvote.voters.density.sskde import SSKDE, spread_labels


def test_the_iteration_ends_at_the_closed_form(planted):
    fitted = SSKDE(n_neighbors=15).fit(planted.X, planted.y, bags=planted.bags)
    K = fitted._build_graph(planted.X, planted.bags).toarray()
    T = np.diag(np.where(planted.y == 1, 0.9, 0.0))
    eye = np.eye(len(K))
    closed = np.linalg.solve(eye - T @ K, (eye - T) @ planted.y)
    np.testing.assert_allclose(fitted.labels_, closed, atol=1e-8)
    np.testing.assert_allclose(fitted.scores_ + fitted.threshold_, K @ closed, atol=1e-8)


def test_labels_that_do_not_follow_their_neighbours_stay(planted):
    fitted = SSKDE().fit(planted.X, planted.y, bags=planted.bags)
    np.testing.assert_array_equal(fitted.labels_[planted.y == 0], 0)


def test_a_segment_called_object_is_a_label_wherever_it_lies(planted):
    user_labels = np.full(len(planted.X), -1)
    user_labels[[0, 200]] = 1
    fitted = SSKDE().fit(planted.X, planted.y, bags=planted.bags, user_labels=user_labels)
    np.testing.assert_array_equal(fitted.labels_[[0, 200]], 1)


def test_the_number_of_rounds_is_told(planted):
    graph = SSKDE().fit(planted.X, planted.y, bags=planted.bags)
    assert graph.n_iter_ > 1
    _, n_rounds = spread_labels(
        graph._build_graph(planted.X, planted.bags), planted.y.astype(float), np.zeros(len(planted.X))
    )
    assert n_rounds == 1


def test_a_trust_of_one_is_refused(planted):
    with pytest.raises(BadInputError, match="trust_votes"):
        SSKDE(trust_votes=1.0).fit(planted.X, planted.y, bags=planted.bags)


@pytest.mark.parametrize("labelled", [0.0, 0.3])
def test_the_closed_form_is_the_printed_equation_and_the_iteration_agrees(planted, labelled):
    options = {"n_neighbors": 15, "trust_votes": 0.8, "trust_votes_labelled": labelled}
    closed = SSKDE(**options, solver="closed").fit(planted.X, planted.y, bags=planted.bags)
    K = closed._build_graph(planted.X, planted.bags).toarray()
    T = np.diag(np.where(planted.y == 1, 0.8, labelled))
    expected = np.linalg.inv(np.eye(len(K)) - T @ K) @ (np.eye(len(K)) - T) @ planted.y
    np.testing.assert_allclose(closed.labels_, expected, atol=1e-9)
    iterated = SSKDE(**options).fit(planted.X, planted.y, bags=planted.bags)
    np.testing.assert_allclose(iterated.labels_, expected, atol=1e-8)


def test_an_unknown_solver_is_refused(planted):
    with pytest.raises(BadInputError, match="solver must be one of iterate, closed"):
        SSKDE(solver="fast").fit(planted.X, planted.y, bags=planted.bags)
