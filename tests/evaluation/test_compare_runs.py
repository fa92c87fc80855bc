"""Comparisons: their figures, that they continue after an interruption, and that one failure does not stop the rest."""

from dataclasses import replace

import numpy as np
import pytest

from segvote import annotate, evaluate
from segvote.errors import BadInputError, UnknownNameError
from segvote.evaluation import compare as compare_module
from segvote.evaluation.compare import Experiment, compare_combinations, count_votes, list_combinations
from segvote.evaluation.comparison import Combination, Result
from segvote.evaluation.rules import decide_by_rules, vote_twice
from segvote.evaluation.truth import Truth, list_truth
from segvote.io.images import list_images
from segvote.pipeline.opening import reopen
from segvote.pipeline.workers import Resources
from segvote.settings import Settings

QUICK = Settings(features="color", n_segments=40, size=160, voter_options={"n_neighbors": 15})


def run(scenes, out, voters=("ekde", "negmin", "crane"), features=("color",), **options):
    readers, combinations = list_truth(scenes / "masks"), list_combinations(voters, features)
    folders = scenes / "with", scenes / "without"
    return compare_combinations(
        Experiment(folders, readers, out, combinations, QUICK, resources=Resources(1), **options)
    )


@pytest.fixture(scope="module")
def comparison(scenes, tmp_path_factory):
    """Three voters on six scenes; only for reading."""
    return run(scenes, tmp_path_factory.mktemp("compare") / "out")


def test_combinations_that_share_features_are_neighbours(scenes, tmp_path):
    combinations = list_combinations(("ekde", "crane"), ("color", "lbp"), ("ward", "slic"))
    assert len(combinations) == 8
    assert [(one.segmenter, one.features) for one in combinations[:2]] == [("ward", "color")] * 2
    with pytest.raises(UnknownNameError, match="ekde"):
        run(scenes, tmp_path, ("nobody",))


def test_a_comparison_measures_the_same_as_evaluate(scenes, comparison, tmp_path):
    settings = replace(QUICK, voter="negmin", voter_options={}, draw="segments")
    single = annotate(scenes / "with", scenes / "without", tmp_path / "run", settings, n_jobs=1)
    figures = evaluate(single, scenes / "masks")
    result = comparison.find("negmin", "color")
    np.testing.assert_allclose(result.measure_ious(), figures.ious)
    np.testing.assert_allclose(result.measure_limits(), figures.limits)
    assert result.ranking.segment_ap == pytest.approx(figures.ranking.segment_ap)
    assert result.ranking.pixel_ap == pytest.approx(figures.ranking.pixel_ap)


def test_ekde_is_first_on_the_scenes_by_paired_bootstrap(comparison):
    ranked = comparison.rank()
    assert ranked[0].combination.voter == "ekde"
    assert comparison.measure_difference(ranked[0]) is None
    difference = comparison.measure_difference(comparison.find("crane", "color"))
    assert difference.mean > 0
    assert difference.p_value < 0.05


def test_repeated_a_comparison_votes_no_more(scenes, comparison, monkeypatch):
    monkeypatch.setattr(compare_module, "count_votes", lambda *_: pytest.fail("nothing is to be done twice"))
    assert run(scenes, comparison.folder).results == comparison.results


def test_changed_truth_is_measured_again(scenes, comparison, tmp_path):
    readers = {path.stem: lambda: Truth(boxes=np.array([[0, 0, 9, 9]])) for path in list_images(scenes / "with")}
    combinations = list_combinations(["ekde"], ["color"])
    folders = scenes / "with", scenes / "without"
    found = compare_combinations(
        Experiment(folders, readers, comparison.folder, combinations, QUICK, resources=Resources(1))
    )
    assert found.results[0].overlaps != comparison.results[0].overlaps


def test_one_failure_is_recorded_and_the_rest_goes_on(scenes, tmp_path, monkeypatch):
    def refuse(table, settings):
        if settings.voter == "negmin":
            raise ZeroDivisionError("a bug")
        return count_votes(table, settings)

    monkeypatch.setattr(compare_module, "count_votes", refuse)
    arguments = (scenes, tmp_path / "out", ("ekde", "negmin"), ("nothing", "color"))
    first = run(*arguments)
    assert [one.is_good for one in first.results] == [False, False, True, False]
    assert "unknown feature" in first.results[0].reason
    assert first.results[3].reason == "ZeroDivisionError: a bug"
    monkeypatch.setattr(compare_module, "count_votes", count_votes)
    assert [one.is_good for one in run(*arguments).results] == [False, False, True, True]


def test_options_reach_the_voter_they_are_for(scenes, comparison):
    (other,) = run(scenes, comparison.folder, ["negmin"], voter_options={"negmin": {"reading": "bag"}}).results
    assert comparison.find("negmin", "color").ranking.segment_ap != other.ranking.segment_ap


def test_videos_are_judged_by_all_frames_with_truth(videos, tmp_path):
    settings = replace(QUICK, n_segments=20, size=80, frames="video")
    readers, combinations = list_truth(videos / "masks"), list_combinations(["ekde"], ["color"])
    folders = videos / "with", videos / "without"
    found = compare_combinations(Experiment(folders, readers, tmp_path, combinations, settings, resources=Resources(1)))
    (result,) = found.good
    assert result.names == ["with/a", "with/b"]
    assert found.measure_corloc(result).mean == 1.0


def test_the_rules_select_as_documented(finished_run):
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
    result = Result(Combination("ward", "color", "ekde"), ["a", "b", "c"], overlaps=overlaps, limits=[(1, 1)] * 3)
    joined = result.group({"a": "one", "b": "one", "c": "two"})
    assert joined.names == ["one", "two"]
    assert joined.measure_ious().tolist() == [4 / 6, 1.0]


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
