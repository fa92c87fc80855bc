"""Ratios are of figures in seconds that both commits have."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
import ratios


def test_only_seconds_are_compared():
    figures = {"fits": {"crane_seconds": 2.0, "auc": 0.9, "deep": {"seconds": 3}}, "seconds": {"a": 1.0}}
    assert dict(ratios.list_seconds(figures)) == {"fits.crane_seconds": 2.0, "fits.deep.seconds": 3.0, "seconds.a": 1.0}


def test_the_smallest_of_the_rounds_counts():
    assert ratios.keep_smallest([{"a": 2.0, "b": 1.0}, {"a": 1.5, "c": 1.0}]) == {"a": 1.5}


def test_short_and_missing_figures_have_no_ratio():
    assert ratios.compare({"a": 2.0, "b": 0.001, "c": 1.0}, {"a": 3.0, "b": 1.0}) == {"a": 1.5}
