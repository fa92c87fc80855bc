"""Benchmarks of finished images, on the small run."""

import argparse
import json
import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
bench, estimate = pytest.importorskip("bench_teach"), pytest.importorskip("bench_estimate")


@pytest.fixture(scope="module")
def opened(scenes, finished_run, tmp_path_factory):
    """The small run under the name of its set."""
    return bench.open_set(scenes, finished_run.folder.path.parent, True, name=finished_run.folder.path.name)


def test_every_learner_is_judged_on_the_other_images(opened):
    row = bench.measure_draw(opened, 2, 0)
    assert set(row) == {*bench.LEARNERS, "extent"}
    assert all(0 <= figure <= 1 for figures in row.values() for figure in figures)
    assert row["default"] == bench.measure_draw(opened, 2, 0)["default"]


def test_drawn_masks_are_measured_like_those_on_the_disk(opened, finished_run):
    drawn = bench.replace(opened, by_segments=False)
    found = drawn.measure(opened.base.selection, [0, 1])
    truths = [opened.readers[image]().mask for image in (0, 1)]
    expected = [bench.measure_iou(finished_run.read_mask(image), truth) for image, truth in enumerate(truths)]
    np.testing.assert_allclose(found, expected)


def test_draws_are_averaged_by_their_number_of_images():
    rows = {"1-0": {"a": (0.0, 0.2)}, "1-1": {"a": (1.0, 0.4)}, "3-0": {"a": (1.0, 1.0)}}
    assert bench.average(rows, "1") == {"a": (0.5, pytest.approx(0.3))}


def test_stored_draws_are_not_measured_again(tmp_path):
    given = argparse.Namespace(runs=tmp_path, segments=True, finished="1", draws=1)
    rows = {"1-0": {name: [0, 1] for name in (*bench.LEARNERS, "extent")}}
    (tmp_path / "set-teach-segments.json").write_text(json.dumps(rows))
    assert bench.measure_set(tmp_path / "set", given) == rows


def test_a_learner_that_is_known_is_not_measured_again(opened):
    known = {name: (0.5, 0.5) for name in (*bench.LEARNERS, "extent") if name != "default"}
    row = bench.measure_draw(opened, 2, 0, known)
    assert row["taught"] == (0.5, 0.5) and row["default"] != (0.5, 0.5)


@pytest.mark.parametrize("name", estimate.INTERVALS)
def test_intervals_hold_the_mean_of_the_values(name):
    values = np.array([0.5, 0.7, 0.6, 0.8])
    low, high = estimate.INTERVALS[name](values)
    assert 0 <= low < values.mean() < high <= 1
