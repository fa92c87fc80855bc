"""The shift of thresholds by the edges of pictures, on rows of segments one can draw by hand."""

import numpy as np
import pytest

from segvote.method import Scores, decide, learn_shift, measure_outlines
from segvote.method.outlines import SHIFTS, USUAL_SHIFT, choose_shift, measure_contrasts, shift_threshold


def make_row(colours, lengths=None):
    """Segments side by side, each pair of neighbours sharing a boundary."""
    n = len(colours)
    edges = np.column_stack([np.arange(n - 1), np.arange(1, n)])
    lab = np.column_stack([colours, np.zeros(n), np.zeros(n)])
    return measure_outlines(edges, np.ones(n - 1) if lengths is None else lengths, lab)


def measure_contrasts_slow(outlines, selected):
    crossed = [selected[a] != selected[b] for a, b in outlines.edges]
    long = sum(length for length, cross in zip(outlines.lengths, crossed, strict=True) if cross)
    if long == 0:
        return 0.0
    rows = list(zip(outlines.lengths, outlines.contrasts, strict=True))
    inside = sum(length * contrast for (length, contrast), cross in zip(rows, crossed, strict=True) if cross) / long
    usual = sum(length * contrast for length, contrast in rows) / sum(outlines.lengths)
    part = long / sum(outlines.lengths)
    return (inside / usual - 1) * part / (part + 0.005)


def make_halo(n_bags, edge_inside, rng):
    """A thing of score 1 with a halo of 0.6 around it; the edge in the picture is where the caller says."""
    bags = []
    for _ in range(n_bags):
        scores = np.array([0, 0.02, 0.6, 1, 0.98, 0.6, 0.01, 0.03]) + 0.01 * rng.random(8)
        inside = scores > (0.8 if edge_inside else 0.4)
        colours = np.where(inside, 60.0, 40.0) + rng.normal(0, 1, 8)
        bags.append((scores, make_row(colours)))
    areas = [np.array([30, 30, 4, 6, 6, 4, 30, 30.0])] * n_bags
    return Scores([scores for scores, _ in bags], areas, [outlines for _, outlines in bags])


def test_contrasts_equal_the_formula():
    rng = np.random.default_rng(0)
    outlines = make_row(20 * rng.random(9), rng.random(8))
    choices = rng.random((6, 9)) < 0.4
    expected = [measure_contrasts_slow(outlines, selected) for selected in choices]
    np.testing.assert_allclose(measure_contrasts(outlines, choices), expected)


def test_an_image_of_one_colour_says_nothing():
    assert measure_contrasts(make_row(np.ones(5)), np.eye(5, dtype=bool)).tolist() == [0] * 5


def test_a_very_strong_edge_counts_no_more_than_a_strong_one():
    assert make_row(np.array([0.0, 30.0, 100.0])).contrasts.tolist() == [30.0, 30.0]


@pytest.mark.parametrize("edge_inside", [True, False])
def test_the_threshold_follows_the_edge_of_the_picture(edge_inside):
    decisions, _ = decide(make_halo(12, edge_inside, np.random.default_rng(1)), "outlines")
    assert all(selected.sum() == (2 if edge_inside else 4) for selected in decisions)


def test_without_outlines_the_rule_is_otsus():
    rng = np.random.default_rng(2)
    bags = Scores([rng.random(9) for _ in range(4)], [np.ones(9)] * 4)
    np.testing.assert_array_equal(decide(bags, "outlines")[1], decide(bags, "otsu")[1])


def test_a_bag_without_outlines_shares_the_shift_of_the_others():
    bags = make_halo(12, True, np.random.default_rng(3))
    mixed = Scores(bags.scores, bags.areas, [*bags.outlines[:-1], None])
    np.testing.assert_allclose(decide(mixed, "outlines")[1], decide(bags, "outlines")[1])


def test_a_shift_learned_before_is_used():
    bags = make_halo(12, True, np.random.default_rng(4))
    shift, lowest = learn_shift(bags), bags.get_lowest()
    alone = Scores(bags.scores[:1], bags.areas[:1], shift=shift, lowest=lowest)
    assert decide(alone, "outlines")[1][0] == decide(bags, "outlines")[1][0]


def test_the_shift_does_not_depend_on_where_scores_begin():
    bags = make_halo(12, True, np.random.default_rng(5))
    moved = Scores([scores - 3 for scores in bags.scores], bags.areas, bags.outlines)
    np.testing.assert_allclose(decide(moved, "outlines")[1], decide(bags, "outlines")[1] - 3)


def test_pictures_that_disagree_leave_the_usual_shift():
    contrasts = np.random.default_rng(6).normal(0, 1, (8, len(SHIFTS)))
    assert choose_shift(contrasts - contrasts.mean(axis=0)) == USUAL_SHIFT


def test_one_picture_proves_nothing():
    assert choose_shift(np.linspace(0, 1, len(SHIFTS))[None]) == USUAL_SHIFT


def test_pictures_that_agree_move_the_shift():
    peak = 1 - np.abs(SHIFTS - 0.5)
    shift = choose_shift(np.tile(peak, (5, 1)))
    assert 0.4 <= shift <= 0.5


def test_shifts_go_down_to_the_lowest_and_up_to_the_best_score():
    assert shift_threshold(0.4, 1.0, 0.1, np.array([-1.0, -0.5, 0.0, 0.5, 1.0])).tolist() == pytest.approx(
        [0.1, 0.25, 0.4, 0.7, 1.0]
    )
