"""The shares and the means of the benchmark of votes on a sample."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
bench = pytest.importorskip("bench_sample")


@pytest.mark.parametrize(
    ("part", "expected"), [("whole", (60, 80)), ("half", (30, 40)), ("quarter", (15, 20)), ("twelve", (12, 16))]
)
def test_both_folders_have_the_same_share(part, expected):
    assert bench.count_share(part, 60, 80, 4) == expected


def test_the_mean_is_over_the_sets():
    rows = {"one": {"half miou": 0.5}, "other": {"half miou": 0.7}}
    assert bench.summarise(rows)["mean"] == {"half miou": pytest.approx(0.6)}
