"""The choices of the benchmark of alternatives: the best of each column, never worse than the default."""

import sys
from pathlib import Path

import numpy as np
import pytest

from segvote.method.extents import N_EXTENTS, Extents

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
bench = pytest.importorskip("bench_alternatives")

TRUTH = np.array([0, 0, 1, 1, 1, 0], dtype=bool)


def make_extents(*levels):
    return Extents(np.array(levels, dtype=np.uint8), np.zeros((3, 1)), np.zeros(len(levels)))


def measure(selected):
    """(1,) overlap with the truth of a single image."""
    return np.array([(selected & TRUTH).sum() / (selected | TRUTH).sum()])


def test_the_best_of_each_column_is_chosen():
    default = make_extents(1, 2, 5, 9, 9, 9)  # its fifth level has one segment of the truth
    other = make_extents(9, 9, 1, 3, 3, 9)  # its third level is the truth
    offered = bench.Offered([None, None], [default, other])
    best = offered.find_best(measure)
    assert best["default"] == bench.Choice(0, 2) and best["extent"] == bench.Choice(0, 5)
    assert best["alternative"] == bench.Choice(1, 2) and best["both"] == bench.Choice(1, 3)
    values = [float(measure(offered.select(best[name]))[0]) for name in bench.COLUMNS]
    assert values[0] <= values[1] <= values[3] == 1 and values[0] <= values[2] <= values[3]


def test_the_default_is_kept_where_nothing_is_better():
    offered = bench.Offered([None], [make_extents(*np.where(TRUTH, 1, N_EXTENTS + 1))])
    assert set(offered.find_best(measure).values()) == {bench.Choice(0, 2)}
