"""Robustness curves: changes of the table, and points that are measured once."""

from dataclasses import replace

import numpy as np
import pytest

from segvote.evaluation import stress as stress_module
from segvote.evaluation.compare import Experiment, compare_combinations, list_combinations
from segvote.evaluation.stress import (
    STRESSES,
    StressPoint,
    add_label_noise,
    draw_bags,
    measure_stress,
    misfile_bags,
    take_bags,
)
from segvote.evaluation.truth import list_truth
from segvote.pipeline.opening import reopen
from segvote.pipeline.workers import Resources
from segvote.report.experiments import format_stress, list_stress_rows
from segvote.settings import Settings

QUICK = Settings(features="color", n_segments=40, size=160, voter_options={"n_neighbors": 15})
ALONE = Resources(n_jobs=1)


@pytest.fixture(scope="module")
def table(finished_run):
    return reopen(finished_run).table


def test_labels_wrong_at_a_level_are_wrong_at_a_higher_one(table):
    few, more = (add_label_noise(table, level, np.random.default_rng(0))[0] for level in (0.2, 0.5))
    wrong_few, wrong_more = few.positive != table.positive, more.positive != table.positive
    assert (wrong_few.sum(), wrong_more.sum()) == (2, 6)
    assert (wrong_more | ~wrong_few).all()
    assert more.positive.sum() == table.positive.sum()


def test_only_with_images_are_misfiled(table):
    changed, _ = misfile_bags(table, 0.5, np.random.default_rng(0))
    assert (table.positive & ~changed.positive).sum() == 3
    assert not (changed.positive & ~table.positive).any()


def test_one_bag_of_each_kind_keeps_its_label(table):
    changed, _ = add_label_noise(table, 0.99, np.random.default_rng(0))
    for kind in (True, False):
        assert ((changed.positive == table.positive) & (table.positive == kind)).sum() == 1


def test_drawn_bags_keep_their_segments(table):
    drawn, kept = draw_bags(table, 2, np.random.default_rng(0))
    assert drawn.positive.tolist() == [True, True, False, False]
    for new, old in enumerate(kept):
        new_rows, old_rows = drawn.get_slice(new), table.get_slice(old)
        np.testing.assert_array_equal(drawn.X[new_rows], table.X[old_rows])
        np.testing.assert_array_equal(drawn.areas[new_rows], table.areas[old_rows])
        near = drawn.edges[drawn.images[drawn.edges[:, 0]] == new] - new_rows.start
        known = table.edges[table.images[table.edges[:, 0]] == old] - old_rows.start
        np.testing.assert_array_equal(near, known)


def test_drawn_videos_keep_their_key_frames(table):
    halves = np.concatenate([2 * np.arange(count) // count for count in np.diff(table.offsets)])
    nothing = {"edges": np.empty((0, 2), np.int64), "lengths": np.empty(0), "contrasts": np.empty(0)}
    bags, positive = np.repeat(table.image_bags, 2), np.repeat(table.positive, 2)
    films = replace(table, images=2 * table.images + halves, image_bags=bags, positive=positive, **nothing)
    taken = take_bags(films, np.array([0, 3, 5]))
    assert taken.image_bags.tolist() == [0, 0, 1, 1, 2, 2]
    np.testing.assert_array_equal(taken.X[taken.images == 2], films.X[films.images == 6])


def test_points_are_measured_once_and_shared_at_level_zero(scenes, tmp_path, monkeypatch):
    for kind, levels in (("images", (3, 100)), ("misfiled", (0.0, 0.3)), ("labels", (0.0, 0.3))):
        monkeypatch.setitem(STRESSES, kind, replace(STRESSES[kind], levels=levels))
    folders, combinations = (scenes / "with", scenes / "without"), list_combinations(("ekde", "negmin"), ("color",))
    truth, out = list_truth(scenes / "masks"), tmp_path / "out"
    experiment = Experiment(folders, truth, out, combinations, QUICK, resources=ALONE)
    points = measure_stress(experiment, n_draws=1)
    counts = [sum(one.kind == kind for one in points) for kind in STRESSES]
    assert counts == [2, 4, 4]  # there are no hundred images
    whole = {one.voter: one for one in points if one.kind == "misfiled" and not one.level}
    result = compare_combinations(experiment).find("negmin", "color")
    assert whole["negmin"].miou == pytest.approx(result.measure_ious().mean())
    assert whole["negmin"].ap == pytest.approx(result.ranking.segment_ap)
    assert whole["ekde"] == replace(next(one for one in points if one.kind == "labels"), kind="misfiled")

    def fail(*_):
        raise AssertionError("nothing is to be measured twice")

    monkeypatch.setattr(stress_module, "count_votes", fail)
    assert measure_stress(experiment, n_draws=1) == points


def test_a_missing_point_is_a_gap_and_has_its_reason():
    levels = (0.0, 0.05, 0.1)
    points = [StressPoint("labels", level, "ekde", 0.5, 0.5, 0.5) for level in levels[:2]]
    points.append(StressPoint("labels", levels[2], "ekde", reason="too <slow>"))
    assert list_stress_rows(points, "labels") == [["CorLoc", "0 %", "5 %", "10 %"], ["ekde", "0.50", "0.50", "–"]]
    section = format_stress(points, "labels")
    assert "too &lt;slow&gt;" in section and section.count("polyline") == 1
