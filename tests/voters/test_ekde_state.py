import numpy as np
import pytest

from segvote.errors import BadInputError
from segvote.kernels import Neighbours
from segvote.metrics import measure_auc
from segvote.voters.ekde import EKDE


@pytest.fixture
def fitted(planted):
    return EKDE(n_neighbors=20).fit(planted.X, planted.y, bags=planted.bags)


def test_a_restored_voter_scores_unseen_segments_alike(fitted, planted, rng):
    unseen = rng.normal(0, 2, size=(30, planted.X.shape[1]))
    prior = rng.uniform(0.5, 1.0, size=30)
    restored = EKDE(n_neighbors=20).set_state(planted.X, planted.y, planted.bags, fitted.get_state())
    np.testing.assert_array_equal(
        restored.decision_function(unseen, prior=prior), fitted.decision_function(unseen, prior=prior)
    )


def test_training_segments_are_scored_alike_when_their_bag_is_named(fitted, planted):
    restored = EKDE(n_neighbors=20).set_state(planted.X, planted.y, planted.bags, fitted.get_state())
    np.testing.assert_allclose(restored.decision_function(planted.X, bags=planted.bags), fitted.scores_, atol=1e-6)


def test_a_held_out_bag_has_no_say_in_its_own_scores(fitted, planted):
    """Slow twin: the vote of all other bags, asked about the bag; with every other segment a neighbour they agree."""
    n_bags = planted.bags.max() + 1
    voter = EKDE(n_neighbors=len(planted.X)).fit(planted.X, planted.y, bags=planted.bags)
    held_out = voter.score_held_out(np.arange(n_bags) // 2)
    out = planted.bags // 2 == 3
    others = EKDE(n_neighbors=len(planted.X)).fit(planted.X[~out], planted.y[~out], bags=planted.bags[~out])
    # A bandwidth set by a farthest neighbour that was taken out differs a little.
    expected = others.decision_function(planted.X[out]) + others.threshold_ - voter.threshold_
    np.testing.assert_allclose(held_out[out], expected, atol=0.05)


def test_held_out_scores_still_find_the_planted_object(fitted, planted):
    held_out = fitted.score_held_out(np.arange(20) % 5)
    assert measure_auc(held_out[planted.candidates], planted.truth[planted.candidates]) > 0.95


def test_holding_out_changes_nothing_of_the_voter(fitted, planted):
    before = fitted.scores_.copy(), fitted.graph_.copy(), fitted.decision_function(planted.X[:5])
    fitted.score_held_out(np.arange(20) % 5)
    np.testing.assert_array_equal(fitted.scores_, before[0])
    assert (fitted.graph_ != before[1]).nnz == 0
    np.testing.assert_array_equal(fitted.decision_function(planted.X[:5]), before[2])


def test_corrections_are_heard_by_held_out_bags_of_others_only(planted):
    user_labels = np.full(len(planted.X), -1, dtype=np.int8)
    user_labels[planted.truth & (planted.bags == 0)] = 0
    voter = EKDE(n_neighbors=20).fit(planted.X, planted.y, bags=planted.bags, user_labels=user_labels)
    free = EKDE(n_neighbors=20).fit(planted.X, planted.y, bags=planted.bags)
    alone = np.where(np.arange(20) == 0, 0, 1)  # bag 0 is taken out by itself, all that was corrected with it
    np.testing.assert_allclose(
        voter.score_held_out(alone)[planted.bags == 0] + voter.threshold_,
        free.score_held_out(alone)[planted.bags == 0] + free.threshold_,
    )


def test_neighbours_that_are_known_give_the_same_scores_without_a_search(fitted, planted, monkeypatch):
    known = Neighbours.search(planted.X, 20, planted.bags)
    monkeypatch.delattr(Neighbours, "search")
    again = EKDE(n_neighbors=20).take_neighbours(known)
    np.testing.assert_array_equal(again.fit(planted.X, planted.y, bags=planted.bags).scores_, fitted.scores_)


def test_neighbours_taken_serve_one_fit_and_must_be_of_as_many_segments(planted):
    part = planted.bags < 15
    voter = EKDE(n_neighbors=20).take_neighbours(Neighbours.search(planted.X, 20, planted.bags))
    with pytest.raises(BadInputError, match="neighbours taken"):
        voter.fit(planted.X[part], planted.y[part], bags=planted.bags[part])
    assert voter.fit(planted.X[part], planted.y[part], bags=planted.bags[part]).graph_.shape[0] == part.sum()
