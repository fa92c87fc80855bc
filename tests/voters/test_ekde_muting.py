"""Bags without a say: the vote as if nobody heard them, in every way a voter is asked."""

import numpy as np
import pytest

from segvote.datasets import make_bags
from segvote.errors import BadInputError
from segvote.voters.ekde import EKDE


@pytest.fixture(scope="module")
def misfiled():
    """Two bags with the object lie among those without it."""
    X, y, bags, truth = make_bags(n_with=20, n_without=20, n_object=6, seed=3)
    wrong = np.unique(bags[y == 1])[:2]
    return X, np.where(np.isin(bags, wrong), 0, y), bags, truth, np.isin(np.unique(bags), wrong)


@pytest.fixture
def muted(misfiled):
    X, y, bags, _, wrong = misfiled
    return EKDE().fit(X, y, bags=bags).mute(wrong)


def vote_slow(votes, y, silent, n_steps):
    """The walk written plainly, on votes of which the silent ones are struck out."""
    votes = np.where(silent, 0.0, votes)
    votes = votes / votes.sum(axis=1, keepdims=True)
    weights = (y == 1).astype(float)
    for _ in range(n_steps + 1):
        heard = votes @ weights
        heard /= heard[y == 1].max()
        weights = np.where(y == 1, heard, 0.0)
    return heard


def test_the_vote_is_the_one_without_the_muted(misfiled, muted):
    _, y, bags, _, wrong = misfiled
    slow = vote_slow(muted.graph_.toarray(), y, np.isin(bags, np.unique(bags)[wrong]), muted.n_steps)
    np.testing.assert_allclose(muted.scores_ + muted.threshold_, slow, rtol=1e-6, atol=1e-12)
    np.testing.assert_array_equal(muted.muted_, wrong)


def test_the_thing_is_no_longer_talked_down(misfiled, muted):
    X, y, bags, truth, _ = misfiled
    heard = EKDE().fit(X, y, bags=bags)
    shown = truth & (y == 1)
    assert np.median(muted.scores_[shown]) > np.median(heard.scores_[shown])


def test_amounts_still_sum_to_the_score(misfiled, muted):
    bags, wrong = misfiled[2], np.flatnonzero(misfiled[4])
    for segment in (0, len(bags) // 2, len(bags) - 1):
        told = muted.explain(segment)
        assert told.amounts.sum() + told.constant == pytest.approx(muted.scores_[segment], abs=1e-9)
        assert not told.amounts[np.isin(muted._segments.bags[told.voters], wrong)].any()


def test_unseen_segments_are_scored_like_those_that_voted(misfiled, muted):
    X, bags = misfiled[0], misfiled[2]
    np.testing.assert_allclose(muted.decision_function(X, bags=bags), muted.scores_, atol=1e-6)


def test_what_is_stored_knows_who_was_muted(misfiled, muted):
    X, y, bags, *_ = misfiled
    stored = EKDE().set_state(X, y, bags, muted.get_state())
    np.testing.assert_array_equal(stored.decision_function(X[:50]), muted.decision_function(X[:50]))


def test_a_state_from_before_anybody_could_be_muted_is_read(misfiled):
    X, y, bags, *_ = misfiled
    voter = EKDE().fit(X, y, bags=bags)
    state = {name: array for name, array in voter.get_state().items() if name != "muted"}
    stored = EKDE().set_state(X, y, bags, state)
    np.testing.assert_array_equal(stored.decision_function(X[:50]), voter.decision_function(X[:50]))


def test_held_out_scores_do_not_hear_the_muted_either(misfiled, muted):
    n_bags = len(misfiled[4])
    scores = muted.score_held_out(np.arange(n_bags) % 4)
    assert np.isfinite(scores).all()
    assert np.corrcoef(scores, muted.scores_)[0, 1] > 0.95


def test_what_a_person_says_is_heard_in_a_muted_bag(misfiled, muted):
    truth, bags, wrong = misfiled[3], misfiled[2], misfiled[4]
    user_labels = np.full(len(truth), -1)
    user_labels[truth & np.isin(bags, np.unique(bags)[wrong])] = 1
    again = muted.revote(user_labels)
    row = again.explain(int(np.flatnonzero(truth)[-1]))
    assert row.amounts[np.isin(row.voters, np.flatnonzero(user_labels == 1))].any()


def test_other_tags_give_all_bags_their_say_again(misfiled, muted):
    X, y, bags, _, wrong = misfiled
    moved = np.where(np.isin(bags, np.unique(bags)[wrong]), 1, y)
    again = muted.revote(np.full(len(X), -1), moved == 1)
    assert not again.muted_.any()
    np.testing.assert_array_equal(again.scores_, EKDE().fit(X, moved, bags=bags).scores_)


def test_a_with_bag_cannot_be_muted(misfiled):
    X, y, bags, *_ = misfiled
    voter = EKDE().fit(X, y, bags=bags)
    with pytest.raises(BadInputError, match="only \\*without\\* bags"):
        voter.mute(np.ones(len(np.unique(bags)), dtype=bool))
