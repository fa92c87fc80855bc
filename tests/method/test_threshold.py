"""Thresholds: each rule on scores you can check by hand."""

import numpy as np
import pytest

from segvote.errors import UnknownNameError
from segvote.method.table import make_table
from segvote.method.threshold import DECISIONS, select

# Three images of four segments, the last one *without*.
TABLE = make_table(np.zeros((12, 1)), np.array([True, True, False]), np.repeat([0, 1, 2], 4))
SCORES = np.array([0.0, 0.1, 0.9, 1.0, -2.0, -1.0, -1.0, 0.4, 5.0, 6.0, 7.0, 8.0])


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        ("otsu", [2, 3, 7]),
        ("global-otsu", [0, 1, 2, 3, 7]),
        ("half-maximum", [2, 3, 7]),
        ("best-segment", [3, 7]),
        ("sign", [1, 2, 3, 7]),
    ],
)
def test_each_rule_selects_what_it_says(rule, expected):
    selected, thresholds = select(TABLE, SCORES, rule)
    assert np.flatnonzero(selected).tolist() == expected
    assert np.flatnonzero(SCORES[:8] > thresholds[TABLE.images[:8]]).tolist() == expected
    assert thresholds[2] == 0


@pytest.mark.parametrize("rule", DECISIONS)
def test_every_with_image_keeps_its_best_segment(rule):
    scores = np.array([-1.0, -1.0, -1.0, -1.0, -3.0, -2.0, -9.0, -9.0, 0.0, 0.0, 0.0, 0.0])
    selected = select(TABLE, scores, rule)[0]
    assert selected[:4].any() and selected[5] and not selected[8:].any()


def test_an_unknown_rule_lists_the_known_ones():
    with pytest.raises(UnknownNameError, match="unknown decision 'median'; the known ones are: best-segment"):
        select(TABLE, SCORES, "median")
