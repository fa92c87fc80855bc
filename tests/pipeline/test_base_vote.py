"""Outcomes of a vote: of the method, and of another voter, without graph, excluded images or refits."""

import numpy as np
import pytest

from segvote.method.table import make_table
from segvote.pipeline.vote import hold_vote
from segvote.settings import Settings


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    images = np.repeat(np.arange(12), 8)
    X = rng.normal(0, 0.1, (96, 4))
    X[(images < 6) & (np.arange(96) % 8 == 0)] += [3, 0, 0, 0]
    return make_table(X.astype(np.float32), np.arange(12) < 6, images)


@pytest.fixture(scope="module")
def base(table):
    return hold_vote(table, Settings(voter="negmin"))


@pytest.fixture(scope="module")
def of_method(table):
    return hold_vote(table, Settings())


def test_a_vote_that_nothing_changes_stays_the_same_object(base, of_method):
    for one in (base, of_method):
        assert one.refit(None) is one and one.teach(None) is one and one.choose(0) is one
    assert base.choose(1) is base and base.teach(np.full(96, np.nan)) is base


def test_an_alternative_of_the_method_is_a_vote_of_its_own(of_method):
    chosen = of_method.choose(1)
    assert of_method.is_method and chosen.vote is of_method.alternatives[1]
    assert chosen.selection is chosen.vote.selection and chosen.alternatives == of_method.alternatives


def test_the_explanation_is_that_of_what_voted(base, of_method):
    assert base.explain(9).score == base.voter.explain(9).score
    assert of_method.explain(9).score == pytest.approx(of_method.selection.unsmoothed[9])


def test_the_method_votes_again_with_other_bag_labels(of_method):
    again = of_method.relabel(of_method.table.bag_labels)
    assert again.graph is of_method.graph and again.recall == of_method.recall
    np.testing.assert_array_equal(again.selection.scores, of_method.selection.scores)


def test_another_voter_has_no_graph_and_excludes_nothing(base):
    assert not base.is_method and base.graph is None and not base.excluded.any()
    assert base.confidence.level == "unknown" and base.refit(None) is base


def test_its_weights_are_a_curve_through_its_threshold(base):
    weights, inside = base.weigh_segments(base.selection), base.table.is_candidate
    assert np.array_equal(weights[inside] > 0.5, base.selection.scores[inside] > 0)
    assert not weights[~inside].any()


def test_its_corrections_hold_and_move_similar_segments(base):
    labels = np.full(96, -1, dtype=np.int8)
    labels[1] = 1
    correction = base.correct(labels)
    assert correction.selection.selected[1] and correction.residuals.nnz
    assert base.weigh_segments(correction.selection)[1] == 1
    assert base.find_extents(correction.selection).select(2)[1]


def test_its_extents_do_not_grow(base):
    extents = base.find_extents(base.selection)
    assert np.array_equal(extents.select(3), extents.select(6))


def test_other_bag_labels_are_voted_on_by_the_same_voter(base):
    again = base.relabel(base.table.bag_labels)
    assert again.voter is base.voter
    np.testing.assert_array_equal(again.selection.scores, base.selection.scores)
