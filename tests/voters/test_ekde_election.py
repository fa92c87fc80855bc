"""The last vote, of those that were taken: all alike, and the same in every way a voter is asked."""

import numpy as np
import pytest

from segvote.datasets import make_bags
from segvote.voters.ekde import EKDE


@pytest.fixture(scope="module")
def planted():
    return make_bags(n_with=20, n_without=20, n_object=6, seed=3)


@pytest.fixture
def elected(planted):
    X, y, bags, truth = planted
    return EKDE().fit(X, y, bags=bags, prior=np.full(len(X), 0.9)).elect(truth)


def test_a_score_is_the_share_of_those_heard_that_were_chosen(planted, elected):
    truth = planted[3]
    slow = [sum(amount for j, amount in enumerate(row) if truth[j]) for row in elected.graph_.toarray()]
    np.testing.assert_allclose(elected.scores_ + elected.threshold_, slow, atol=1e-12)
    assert elected.scores_.max() + elected.threshold_ <= 1 + 1e-12


def test_all_parts_of_the_thing_score_alike(planted, elected):
    X, y, bags, truth = planted
    walk = EKDE().fit(X, y, bags=bags)
    spread = [np.std(voter.scores_[truth]) / np.ptp(voter.scores_) for voter in (walk, elected)]
    assert spread[1] < spread[0]


def test_unseen_segments_are_heard_by_the_elected(planted, elected):
    X, _, bags, _ = planted
    np.testing.assert_allclose(elected.decision_function(X, bags=bags), elected.scores_, atol=1e-6)
    votes, halved = (elected.decision_function(X[:20], prior=np.full(20, factor)) for factor in (1.0, 0.5))
    np.testing.assert_allclose(halved + elected.threshold_, 0.5 * (votes + elected.threshold_))


def test_amounts_sum_to_the_score_of_the_last_vote(planted, elected):
    for segment in (0, 7, len(planted[0]) - 1):
        told = elected.explain(segment)
        assert told.amounts.sum() + told.constant == pytest.approx(elected.scores_[segment], abs=1e-9)


def test_what_is_stored_knows_the_elected(planted, elected):
    X, y, bags, _ = planted
    stored = EKDE().set_state(X, y, bags, elected.get_state())
    scores = [voter.decision_function(X[:50], prior=np.full(50, 0.5)) for voter in (stored, elected)]
    np.testing.assert_array_equal(*scores)


def test_a_person_changes_who_is_elected_and_can_take_it_back(planted, elected):
    truth, first, votes = planted[3], elected.scores_, elected.scores_ + elected.threshold_
    user_labels = np.full(len(truth), -1)
    user_labels[np.flatnonzero(truth)[:10]] = 0
    assert (elected.revote(user_labels).scores_ + elected.threshold_ <= votes + 1e-12).all()
    np.testing.assert_array_equal(elected.revote(np.full(len(truth), -1)).scores_, first)


def test_held_out_bags_are_heard_by_those_elected_without_them(planted, elected):
    folds = np.arange(40) % 4
    scores, out = elected.score_held_out(folds), folds == 1
    kept = ~out[elected._segments.bags]
    X, y, bags, truth = (values[kept] for values in planted)
    fewer = EKDE().fit(X, y, bags=bags, prior=np.full(len(X), 0.9))
    by_rank = np.zeros(len(X), dtype=bool)
    for bag in np.unique(bags):
        mine = np.flatnonzero(bags == bag)
        by_rank[mine[np.argsort(-fewer.scores_[mine], kind="stable")][: truth[mine].sum()]] = True
    alone = fewer.elect(by_rank).decision_function(planted[0][~kept]) + fewer.threshold_
    # Not equal: taken out afterwards, a bag leaves its neighbours with fewer than forty to hear.
    assert np.corrcoef(scores[~kept], alone)[0, 1] > 0.97


def test_other_tags_call_for_another_election(planted, elected):
    X, y, bags, _ = planted
    moved = np.where(bags == bags[-1], 1, y)
    again = elected.revote(np.full(len(X), -1), moved == 1)
    fresh = EKDE().fit(X, moved, bags=bags, prior=np.full(len(X), 0.9))
    np.testing.assert_array_equal(again.scores_, fresh.scores_)
