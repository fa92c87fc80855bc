"""Decisions: each rule on scores you can check by hand."""

import numpy as np
import pytest
from made_tables import make_scene, tabulate

from segvote.method.decide import DECISIONS, decide, select

SCORES = [np.array([0.0, 0.1, 0.9, 1.0]), np.array([-2.0, -1.0, -1.0, 0.4])]
AREAS = [np.ones(4), np.ones(4)]


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        ("otsu", [[0, 0, 1, 1], [0, 0, 0, 1]]),
        ("global-otsu", [[1, 1, 1, 1], [0, 0, 0, 1]]),
        ("half-maximum", [[0, 0, 1, 1], [0, 0, 0, 1]]),
        ("best-segment", [[0, 0, 0, 1], [0, 0, 0, 1]]),
        ("sign", [[0, 1, 1, 1], [0, 0, 0, 1]]),
    ],
)
def test_each_rule_selects_what_it_says(rule, expected):
    selections, thresholds = decide(SCORES, AREAS, rule)
    assert [one.tolist() for one in selections] == [[bool(value) for value in row] for row in expected]
    assert all(
        (scores > cut).tolist() == one.tolist() for scores, cut, one in zip(SCORES, thresholds, selections, strict=True)
    )


@pytest.mark.parametrize("rule", DECISIONS)
def test_every_with_image_keeps_its_best_segment(rule):
    scores = [np.full(3, -1.0), np.array([-3.0, -2.0, -9.0])]
    selections, _ = decide(scores, [np.ones(3)] * 2, rule)
    assert selections[0].any() and selections[1][1]


def test_nothing_is_selected_in_without_images():
    table = tabulate(make_scene(n_images=6, n_segments=8))
    selected, thresholds = select(table, np.random.default_rng(0).normal(size=len(table)))
    assert not selected[~table.is_candidate].any() and not thresholds[~table.positive].any()
    assert (table.sum_by_image(selected)[table.positive] >= 1).all()
