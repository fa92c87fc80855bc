"""The made set and the sums of the benchmark of scale."""

import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
bench = pytest.importorskip("bench_scale")


def test_the_made_set_is_what_it_says():
    X, y, bags, truth = bench.make_set(1000)
    assert X.shape == (1000, 472) and X.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(X, axis=1), 1, rtol=1e-5)
    assert np.bincount(bags).tolist() == [100] * 10
    assert np.bincount(bags[truth], minlength=10).tolist() == [0, 5] * 5
    assert (y[truth] == 1).all()
    assert np.array_equal(X, bench.make_set(1000)[0])


def test_the_planted_object_is_found():
    row = bench.measure_size(1500)
    assert row["ap"] > 0.8
    assert row["recall_judged"] == 1
    assert row["ap_judged"] == pytest.approx(row["ap_judged_exact"], abs=1e-9)
