"""The finishing steps after any voter: against the formula, on planted objects, and in the commands."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.metrics import average_precision_score

from segvote.errors import BadInputError
from segvote.evaluation.compare import Plan, compare
from segvote.evaluation.compare_results import add_finished, split_voter, wants_lengths
from segvote.kernels import otsu_threshold
from segvote.method.linear import fit_posterior
from segvote.run.settings import Settings
from segvote.steps.annotate import annotate
from segvote.steps.prediction.predict import predict
from segvote.voters import VOTERS, make_voter
from segvote.voters.finished import Finished, scale_to_unit
from segvote.voters.negative.negatives import NegativeVotes

QUICK = Settings(features="color", n_segments=30, size=120, draw="segments")


def cut(scores, planted):
    selected = np.zeros(len(scores), dtype=bool)
    for bag in np.unique(planted.bags[planted.y == 1]):
        own = scores[planted.bags == bag]
        selected[planted.bags == bag] = (own > otsu_threshold(own)) | (own == own.max())
    return selected


def average_neighbours(X, bags, labels, n_neighbors):
    """Share of selected neighbours, one segment at a time; weights as in the walk."""
    shares = []
    for one, bag in zip(X, bags, strict=True):
        squared = ((X - one) ** 2).sum(axis=1)
        squared[bags == bag] = np.inf
        near = np.argsort(squared, kind="stable")[:n_neighbors]
        width = squared[near[-1]] / 4
        weights = np.exp(-(squared[near] - squared[near[0]]) / (2 * width))
        shares.append(weights @ labels[near] / weights.sum())
    return np.array(shares)


def test_the_score_is_its_formula(planted):
    found = Finished(NegativeVotes(), n_neighbors=8).fit(planted.X, planted.y, bags=planted.bags)
    X = planted.X / np.linalg.norm(planted.X, axis=1, keepdims=True)
    first = cut(NegativeVotes().fit(planted.X, planted.y, bags=planted.bags).scores_, planted)
    again = cut(average_neighbours(X, planted.bags, first, 8), planted)
    share = average_neighbours(X, planted.bags, again, 8)
    posterior = fit_posterior(scale_to_unit(planted.X), again, np.ones(len(X))).measure(scale_to_unit(planted.X))
    inside = share[again].mean()
    expected = inside * share + (1 - inside) * posterior
    np.testing.assert_allclose(found.scores_ + found.threshold_, expected, atol=1e-4)


@pytest.mark.parametrize("name", ["negmin", "crane", "cam"])
def test_finishing_ranks_the_planted_object(planted, name):
    found = make_voter(name, {}, finish=True).fit(planted.X, planted.y, bags=planted.bags)
    assert average_precision_score(planted.truth[planted.candidates], found.scores_[planted.candidates]) > 0.9


def test_new_segments_are_scored_by_the_same_rule(planted):
    found = Finished(NegativeVotes()).fit(planted.X, planted.y, bags=planted.bags)
    again = found.decision_function(planted.X, bags=planted.bags)
    np.testing.assert_allclose(again, found.scores_, atol=1e-5)
    explained = found.explain(3)
    assert explained.amounts.sum() + explained.constant == pytest.approx(found.scores_[3], abs=1e-5)


def test_corrections_hold(planted):
    user_labels = np.full(len(planted.X), -1)
    user_labels[[0, 3]] = 1, 0
    found = Finished(NegativeVotes()).fit(planted.X, planted.y, bags=planted.bags, user_labels=user_labels)
    assert found.selected_[0] and not found.selected_[3]


def test_names_of_finished_voters():
    assert add_finished(("ekde", "crane")) == ("ekde", "crane", "crane+finish")
    assert split_voter("f-neg+finish") == ("f-neg", True) and split_voter("f-neg") == ("f-neg", False)
    assert all(wants_lengths("color", f"{name}+finish") == VOTERS[name].wants_lengths for name in VOTERS)


def test_annotate_and_predict_finish_a_voter(scenes, tmp_path):
    settings = replace(QUICK, voter="f-neg", finish=True)
    run = annotate(scenes / "with", scenes / "without", tmp_path / "run", settings, n_jobs=1)
    assert run.record["settings"]["finish"] is True
    assert predict(tmp_path / "run", scenes / "with", tmp_path / "new", n_jobs=1).images
    with pytest.raises(BadInputError, match="expected a voter with --finish, got ekde"):
        annotate(scenes / "with", scenes / "without", tmp_path / "no", replace(settings, voter="ekde"), n_jobs=1)


@pytest.mark.parametrize("time_limit", [None, 60.0])
def test_compare_has_voters_bare_and_finished(scenes, tmp_path, time_limit):
    plan = Plan(add_finished(("negmin",)), ("color",), time_limit=time_limit)
    done = compare(scenes / "with", scenes / "without", scenes / "masks", tmp_path / "out", plan, QUICK, n_jobs=1)
    bare, finished = done.good
    assert [one.combination.voter for one in (bare, finished)] == ["negmin", "negmin+finish"]
    assert bare.segment_ap != finished.segment_ap
    assert finished.overlaps["own"] == finished.overlaps["common"]
