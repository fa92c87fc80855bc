"""Accidents to tables of segments, and the curves they give."""

import numpy as np
import pytest

from segvote.errors import BadInputError
from segvote.evaluation import stress as stress_module
from segvote.evaluation.compare import Plan
from segvote.evaluation.stress import add_noise, draw_bags, flip_labels, stress
from segvote.run.settings import Settings
from segvote.steps.reopening import reopen

QUICK = Settings(features="color", n_segments=40, size=160, voter_options={"n_neighbors": 15})


@pytest.fixture(scope="module")
def table(finished_run):
    return reopen(finished_run).table


def test_bags_wrong_at_a_level_are_wrong_at_a_higher_one(table):
    few, _ = flip_labels(table, 0.2, np.random.default_rng(0))
    more, _ = flip_labels(table, 0.5, np.random.default_rng(0))
    wrong_few, wrong_more = few.positive != table.positive, more.positive != table.positive
    assert wrong_few.sum() == 2
    assert wrong_more.sum() == 6
    assert (wrong_more | ~wrong_few).all()
    assert more.positive.sum() == table.positive.sum()


def test_drawn_bags_keep_their_segments(table):
    drawn, kept = draw_bags(table, 2, np.random.default_rng(0))
    assert drawn.positive.tolist() == [True, True, False, False]
    for new, old in enumerate(kept):
        new_rows = slice(drawn.offsets[new], drawn.offsets[new + 1])
        old_rows = slice(table.offsets[old], table.offsets[old + 1])
        np.testing.assert_array_equal(drawn.X[new_rows], table.X[old_rows])
        np.testing.assert_array_equal(drawn.areas[new_rows], table.areas[old_rows])
        assert (drawn.bags[new_rows] == new).all()
    with pytest.raises(BadInputError, match="only 6"):
        draw_bags(table, 7, np.random.default_rng(0))


def test_noise_has_the_size_asked_for(table):
    noisy, _ = add_noise(table, 0.5, np.random.default_rng(0))
    varied = table.X.std(axis=0) > 0
    ratio = (noisy.X - table.X).std(axis=0)[varied] / table.X.std(axis=0)[varied]
    assert ratio.mean() == pytest.approx(0.5, abs=0.05)
    assert noisy.X.dtype == table.X.dtype


def test_curves_have_a_point_per_level_measured_once(scenes, tmp_path, monkeypatch):
    plan = Plan(voters=("ekde", "negmin"), features=("color",))
    arguments = (scenes / "with", scenes / "without", scenes / "masks", tmp_path / "out", plan, QUICK)
    curves = stress(*arguments, kinds=("labels", "images", "features"), n_draws=1, n_jobs=1)
    assert [(one.kind.name, one.voter) for one in curves[:2]] == [("labels", "ekde"), ("labels", "negmin")]
    assert len(curves) == 6
    labels, images, features = curves[0], curves[2], curves[4]
    assert [point.corloc is None for point in labels.points] == [False] * 4
    assert all("only 6" in point.reason for point in images.points)
    assert labels.points[0] == features.points[0]
    assert features.points[0].ap > features.points[-1].ap

    def fail(*_, **__):
        raise AssertionError("nothing is to be done twice")

    monkeypatch.setattr(stress_module, "prepare_stage", fail)
    again = stress(*arguments, kinds=("labels", "images", "features"), n_draws=1, n_jobs=1)
    assert again == curves


def test_the_number_of_segments_is_a_stress_too(scenes, tmp_path, monkeypatch):
    few = stress_module.Stress("segments", "number of segments", (10, 30))
    monkeypatch.setitem(stress_module.STRESSES, "segments", few)
    plan = Plan(voters=("negmin",), features=("color",))
    arguments = (scenes / "with", scenes / "without", scenes / "masks", tmp_path / "out", plan, QUICK)
    (curve,) = stress(*arguments, kinds=("segments",), n_jobs=1)
    assert all(point.ap > 0 for point in curve.points)
