"""Second voting, survival, heat and decisions on numbers one can check by hand."""

import numpy as np
import pytest

from segvote.errors import UnknownNameError
from segvote.masks import measure_uncertainty, scale_heat
from segvote.method import DECISIONS, Scores, decide, prefer_inside, vote_again


def vote_again_slow(scores, edges, share):
    voted = []
    for i, score in enumerate(scores):
        near = [b if a == i else a for a, b in edges if i in (a, b)]
        voted.append((1 - share) * score + share * np.mean([scores[j] for j in near]) if near else score)
    return np.array(voted)


def test_second_voting_equals_the_formula():
    rng = np.random.default_rng(0)
    scores, edges = rng.random(9), np.array([[0, 1], [1, 2], [0, 4], [3, 4], [5, 6]])
    np.testing.assert_allclose(vote_again(scores, edges, 0.3), vote_again_slow(scores, edges, 0.3))


def test_a_segment_without_neighbours_keeps_its_score():
    assert vote_again(np.array([1.0, 2.0, 7.0]), np.array([[0, 1]]), 0.5)[2] == 7.0


def test_only_the_border_is_distrusted():
    assert prefer_inside(np.array([0, 3, 0]), 0.9).tolist() == [1.0, 0.9, 1.0]


@pytest.mark.parametrize("rule", DECISIONS)
def test_every_bag_keeps_at_least_its_best_segment(rule):
    rng = np.random.default_rng(1)
    bags = Scores([rng.random(7) for _ in range(5)] + [np.full(4, 0.3)], [np.ones(7)] * 5 + [np.ones(4)])
    decisions, thresholds = decide(bags, rule)
    assert len(decisions) == len(thresholds) == 6
    assert all(selected[np.argmax(scores)] for selected, scores in zip(decisions, bags.scores, strict=True))


def test_otsu_separates_two_levels_and_weighs_areas():
    decisions, thresholds = decide(Scores([np.array([0.0, 0.1, 0.9, 1.0])], [np.ones(4)]), "otsu")
    assert decisions[0].tolist() == [False, False, True, True]
    assert thresholds[0] == pytest.approx(0.5)


def test_an_unknown_rule_lists_the_known_ones():
    with pytest.raises(UnknownNameError, match="otsu"):
        decide(Scores([np.ones(2)], [np.ones(2)]), "dice")


def test_heat_is_one_half_at_the_threshold():
    assert scale_heat(np.array([-1.0, 0.0, 2.0, 4.0, 9.0]), 2.0, 0.0, 4.0).tolist() == [0, 0, 0.5, 1, 1]


def test_doubt_is_none_for_two_levels_and_full_for_one():
    scores, areas = np.array([0.0, 0.0, 1.0]), np.ones(3)
    assert measure_uncertainty(scores, scores > 0.5, areas) == pytest.approx(0)
    assert measure_uncertainty(np.ones(3), np.array([True, False, False]), areas) == 1
