"""Regions or lines: widths and elongations of shapes one can draw by hand, and the decision of made surfaces."""

import numpy as np
import pytest

from segvote.masks.choice import LineEvidence, choose_filter, measure_elongation, measure_width
from segvote.masks.lines import FILTERS, N_STEPS, STEPS_PER_UNIT

LINES = LineEvidence(width=0.6, share=0.15, elongation=14.0, thickness=0.3)


def make_strip(width, length=100):
    mask = np.zeros((60, 120), dtype=bool)
    mask[20 : 20 + width, 10 : 10 + length] = True
    return mask


@pytest.mark.parametrize("width", [4, 8, 16])
def test_width_of_a_strip_is_its_own_plus_two(width):
    strip = np.zeros((60, 120), dtype=bool)
    strip[20 : 20 + width] = True
    assert measure_width(strip) == pytest.approx(width + 2)


def test_width_of_nothing_and_of_all():
    assert measure_width(np.zeros((5, 9), bool)) == 0
    assert measure_width(np.ones((5, 9), bool)) == 5


def test_long_strips_are_longer_than_wide():
    assert measure_elongation(make_strip(4)) > 15 > measure_elongation(make_strip(20, 20))
    assert measure_elongation(np.zeros((5, 9), bool)) == 0


def test_elongation_does_not_add_up_over_components():
    two = make_strip(4, 40)
    two[40:44, 10:50] = True
    assert measure_elongation(two) == pytest.approx(measure_elongation(make_strip(4, 40)))


def test_all_four_figures_have_to_agree():
    assert LINES.is_lines
    for name, value in (("width", 1.2), ("share", 0.01), ("elongation", 3.0), ("thickness", 0.9)):
        assert not LineEvidence(**{**vars(LINES), name: value}).is_lines, name


def test_filter_is_the_one_that_finds_most():
    negative = np.zeros((len(FILTERS), N_STEPS), dtype=np.int64)
    negative[:, :100] = 10  # tails fall from 1 by a hundredth with each step
    selected = np.zeros_like(negative)
    selected[:, 50] = 8
    selected[5, 50], selected[5, 200] = 6, 2
    line_filter, low, high, share = choose_filter(negative, [selected, selected])
    assert line_filter == FILTERS[5] and share == pytest.approx(0.25)
    # The first steps at which at most .1 and .03 of a quarter are left.
    assert (low, high) == (98 / STEPS_PER_UNIT, 100 / STEPS_PER_UNIT)


def test_surfaces_that_do_not_differ_have_no_lines():
    negative = np.zeros((len(FILTERS), N_STEPS), dtype=np.int64)
    negative[:, :100] = 10
    assert choose_filter(negative, [negative])[3] == 0
