"""Comparisons: what they measure, that they go on where they were, and that one failure costs only itself."""

from dataclasses import replace

import numpy as np
import pytest

from segvote import annotate
from segvote.errors import BadInputError, UnknownNameError, UnreadableImageError
from segvote.evaluation import compare as compare_module
from segvote.evaluation.compare import Plan, compare, list_combinations
from segvote.evaluation.compare_results import Combination, Result
from segvote.evaluation.compare_stage import (
    count_votes,
    decide_by_rules,
    vote_twice,
)
from segvote.evaluation.evaluate import evaluate
from segvote.io.images import read_enough
from segvote.run.settings import Settings
from segvote.steps.reopening import reopen

QUICK = Settings(features="color", n_segments=40, size=160, voter_options={"n_neighbors": 15})
PLAN = Plan(voters=("ekde", "negmin", "crane"), features=("color",))


def run(scenes, out, plan=PLAN, **changed):
    settings = replace(QUICK, **changed)
    return compare(scenes / "with", scenes / "without", scenes / "masks", out, plan, settings, n_jobs=1)


@pytest.fixture(scope="module")
def comparison(scenes, tmp_path_factory):
    """Three voters on six scenes; only for reading."""
    return run(scenes, tmp_path_factory.mktemp("compare") / "out")


def test_combinations_that_share_features_stand_together():
    plan = Plan(voters=("ekde", "crane"), features=("color", "lbp"), segmenters=("ward", "slic"))
    combinations = list_combinations(plan)
    assert len(combinations) == 8
    assert [(one.segmenter, one.features) for one in combinations[:2]] == [("ward", "color")] * 2
    with pytest.raises(UnknownNameError, match="ekde"):
        list_combinations(Plan(voters=("nobody",)))


def test_a_comparison_measures_what_annotate_and_evaluate_do(scenes, comparison, tmp_path):
    settings = replace(QUICK, voter="negmin", voter_options={}, draw="segments")
    single = annotate(scenes / "with", scenes / "without", tmp_path / "run", settings, n_jobs=1)
    figures = evaluate(single, scenes / "masks")
    result = comparison.find("negmin", "color")
    np.testing.assert_allclose(result.measure_ious(), figures.ious)
    np.testing.assert_allclose(result.measure_limits(), figures.limits)
    assert result.segment_ap == pytest.approx(figures.ranking.segment_ap)
    assert result.pixel_ap == pytest.approx(figures.ranking.pixel_ap)


def test_ekde_is_first_on_the_scenes_by_paired_bootstrap(comparison):
    ranked = comparison.rank()
    assert ranked[0].combination.voter == "ekde"
    assert comparison.measure_difference(ranked[0]) is None
    difference = comparison.measure_difference(comparison.find("crane", "color"))
    assert difference.mean > 0
    assert difference.p_value < 0.05


def test_repeated_a_comparison_votes_no_more(scenes, comparison, monkeypatch):
    def fail(*_):
        raise AssertionError("nothing is to be done twice")

    monkeypatch.setattr(compare_module, "count_votes", fail)
    monkeypatch.setattr(compare_module, "prepare_stage", fail)
    again = run(scenes, comparison.folder)
    assert again.results == comparison.results


def test_one_failure_is_recorded_and_the_rest_goes_on(scenes, tmp_path, monkeypatch):
    def refuse(table, settings):
        if settings.voter == "negmin":
            raise ZeroDivisionError("a bug")
        return count_votes(table, settings)

    monkeypatch.setattr(compare_module, "count_votes", refuse)
    plan = replace(PLAN, voters=("ekde", "negmin"), features=("nothing", "color"))
    first = run(scenes, tmp_path / "out", plan)
    assert [one.is_good for one in first.results] == [False, False, True, False]
    assert "unknown feature" in first.results[0].reason
    assert first.results[3].reason == "ZeroDivisionError: a bug"
    monkeypatch.setattr(compare_module, "count_votes", count_votes)
    assert [one.is_good for one in run(scenes, tmp_path / "out", plan).results] == [False, False, True, True]


def test_a_result_without_an_image_that_is_back_is_not_kept(scenes, tmp_path, monkeypatch):
    plan = replace(PLAN, voters=("crane",))

    def hide(path, longest):
        if path.name == "with-001.png":
            raise UnreadableImageError(f"{path}: missing")
        return read_enough(path, longest)

    with monkeypatch.context() as patched:
        patched.setattr("segvote.steps.extract.read_enough", hide)
        (lost,) = run(scenes, tmp_path, plan).results
    (found,) = run(scenes, tmp_path, plan).results
    assert "with-001.png could not be read for a moment" in lost.reason
    assert found.is_good and len(found.names) == 6


def test_options_reach_the_voter_they_are_for(scenes, tmp_path):
    plain = run(scenes, tmp_path / "out", Plan(voters=("negmin",), features=("color",)))
    plan = Plan(voters=("negmin",), features=("color",), voter_options={"negmin": {"reading": "bag"}})
    other = run(scenes, tmp_path / "out", plan)
    assert plain.results[0].key != other.results[0].key
    assert plain.results[0].segment_ap != other.results[0].segment_ap


def test_the_rules_select_what_they_say(finished_run):
    table = reopen(finished_run).table
    votes = np.random.default_rng(0).normal(size=len(table.X))
    shown = table.is_candidate
    _, _, own = decide_by_rules(table, votes, replace(QUICK, voter="cam"), 7)
    np.testing.assert_array_equal(own["own"], (votes > 0) & shown)
    assert own["matched"].sum() == 7
    assert votes[own["matched"]].min() > votes[shown & ~own["matched"]].max()
    _, _, best = decide_by_rules(table, votes, replace(QUICK, voter="negmin"), 7)
    assert best["own"].sum() == table.bag_labels.sum()
    _, _, crane = decide_by_rules(table, votes, replace(QUICK, voter="crane"), 7)
    np.testing.assert_array_equal(crane["own"], crane["matched"])
    assert not any(one[~shown].any() for one in (*own.values(), *best.values()))


def test_the_second_voting_is_the_mean_of_adjacent_segments(finished_run):
    table = reopen(finished_run).table
    votes = np.random.default_rng(0).normal(size=len(table.X))
    expected = votes.copy()
    edges = table.edges
    for one in np.unique(edges):
        adjacent = [*edges[edges[:, 0] == one, 1], *edges[edges[:, 1] == one, 0]]
        expected[one] = 0.7 * votes[one] + 0.3 * votes[adjacent].mean()
    np.testing.assert_allclose(vote_twice(table, votes, 0.3), expected)
    settings, shown = replace(QUICK, voter="cam", smoothing=0.3), table.is_candidate
    np.testing.assert_array_equal(decide_by_rules(table, votes, settings, 7)[2]["printed"], (expected > 0) & shown)


def test_frames_join_to_videos():
    overlaps = {"common": [(1.0, 2.0), (3.0, 4.0), (0.0, 0.0)]}
    result = Result(
        Combination("ward", "color", "ekde"), "key", ["a", "b", "c"], overlaps=overlaps, limits=[(1, 1)] * 3
    )
    joined = result.group({"a": "one", "b": "one", "c": "two"})
    assert joined.names == ["one", "two"]
    assert joined.measure_ious().tolist() == [4 / 6, 1.0]
    with pytest.raises(UnknownNameError, match="common"):
        joined.measure_ious("other")


def test_annotate_has_the_second_voting_as_printed(scenes, tmp_path):
    settings = replace(QUICK, voter="f-neg", voter_options={}, second_voting=True, smoothing=0.4, decision="sign")
    run = annotate(scenes / "with", scenes / "without", tmp_path / "run", settings, n_jobs=1)
    scores = run.votes["scores"]
    for index in range(len(run)):
        votes, edges = run.votes["votes"][run.get_slice(index)], run.read_segments(index)["edges"]
        near = [[*edges[edges[:, 0] == one, 1], *edges[edges[:, 1] == one, 0]] for one in range(len(votes))]
        means = [votes[others].mean() if others else votes[one] for one, others in enumerate(near)]
        np.testing.assert_allclose(scores[run.get_slice(index)], 0.6 * votes + 0.4 * np.array(means), atol=1e-6)
    with pytest.raises(BadInputError, match="expected a voter with --second-voting"):
        annotate(scenes / "with", scenes / "without", tmp_path / "no", replace(settings, voter="ekde"), n_jobs=1)
