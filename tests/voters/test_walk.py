"""The walk, on adapted features too, and the finishing steps behind any voter."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, GroupKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from segvote import annotate, predict
from segvote.datasets import make_bags
from segvote.errors import BadInputError
from segvote.method.linear import fit_posterior
from segvote.numerics import otsu_threshold
from segvote.settings import Settings
from segvote.voters.crane import CRANE
from segvote.voters.linear import CAM
from segvote.voters.negatives import NegativeVotes, NegMin
from segvote.voters.walk import AdaptedWalk, Revote, Walk, scale_to_unit

QUICK = Settings(features="color", n_segments=30, size=120, draw="segments")


@pytest.fixture(scope="module")
def many_bags():
    return make_bags(n_with=30, n_without=30, n_object=6, seed=3)


def vote_slow(X, y, bags, prior, n_neighbors, n_steps):
    """voting.md, section 4, one segment at a time."""
    n = len(X)
    votes = np.zeros((n, n))
    for i in range(n):
        squared = sorted((np.sum((X[i] - X[j]) ** 2), j) for j in range(n) if bags[j] != bags[i])[:n_neighbors]
        bandwidth = np.sqrt(squared[-1][0]) / 2
        for d, j in squared:
            votes[i, j] = np.exp(-(d - squared[0][0]) / (2 * bandwidth**2))
        votes[i] /= votes[i].sum()
    weights = (y == 1).astype(float)
    for _ in range(n_steps + 1):
        scores = prior * (votes @ weights)
        scores /= scores[y == 1].max()
        weights = np.where(y == 1, scores, 0.0)
    return scores


def measure_f1(selected, truth):
    hits = (selected & truth).sum()
    return hits / selected.sum(), hits / truth.sum()


def test_votes_equal_the_iteration_written_plainly():
    X, y, bags, _ = make_bags(n_with=4, n_without=4, n_segments=8, n_object=2, n_odd=1, seed=1)
    prior = np.random.default_rng(0).uniform(0.8, 1, len(X))
    voter = Walk(n_neighbors=6, n_steps=9).fit(X, y, bags=bags, prior=prior)
    slow = vote_slow(X, y, bags, prior, 6, 9)
    np.testing.assert_allclose(voter.scores_ + voter.threshold_, slow, rtol=1e-5, atol=1e-9)
    assert voter.threshold_ == pytest.approx(otsu_threshold(slow))


def test_the_object_is_found_where_negatives_mislead(many_bags):
    X, y, bags, truth = many_bags
    found = Walk().fit(X, y, bags=bags).scores_ > 0
    precision, recall = measure_f1(found & (y == 1), truth)
    assert precision > 0.95
    assert recall > 0.95
    for rival in (NegMin(), CRANE()):
        selected = (rival.fit(X, y, bags=bags).scores_ > 0) & (y == 1)
        assert min(measure_f1(selected, truth)) < 0.8


def test_a_correction_stands_and_spreads(many_bags):
    X, y, bags, truth = many_bags
    plain = Walk().fit(X, y, bags=bags)
    user_labels = np.full(len(X), -1)
    wrong = np.flatnonzero(truth)[0]
    user_labels[wrong] = 0
    corrected = Walk().fit(X, y, bags=bags, user_labels=user_labels)
    assert corrected.weights_[wrong] == 0
    others = truth & (np.arange(len(X)) != wrong)
    assert corrected.graph_[others].tocsc()[:, [wrong]].sum() > 0
    assert (corrected.scores_ + corrected.threshold_)[others].mean() < (plain.scores_ + plain.threshold_)[others].mean()


def test_it_works_in_pipelines_and_grid_search(many_bags):
    X, y, bags, _ = many_bags
    voter = make_pipeline(StandardScaler(), Walk())
    assert clone(voter).set_params(walk__n_steps=5).fit(X, y, walk__bags=bags).predict(X).shape == y.shape
    search = GridSearchCV(Walk(), {"n_neighbors": [10, 20]}, cv=GroupKFold(3), scoring="roc_auc")
    assert search.fit(X, y, groups=bags).best_score_ > 0.5


def test_it_is_the_walk_on_features_stretched_along_cam(planted):
    data = {"y": planted.y, "bags": planted.bags}
    found = AdaptedWalk(gain=3.0, n_neighbors=10).fit(planted.X, **data)
    u = CAM().fit(planted.X, **data).coef_
    u = u / np.linalg.norm(u)
    expected = Walk(n_neighbors=10).fit(planted.X @ (np.eye(6) + 2 * np.outer(u, u)), **data)
    np.testing.assert_allclose(found.scores_, expected.scores_, atol=1e-5)


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
    found = Revote(NegativeVotes(), n_neighbors=8).fit(planted.X, planted.y, bags=planted.bags)
    X = planted.X / np.linalg.norm(planted.X, axis=1, keepdims=True)
    first = cut(NegativeVotes().fit(planted.X, planted.y, bags=planted.bags).scores_, planted)
    again = cut(average_neighbours(X, planted.bags, first, 8), planted)
    share = average_neighbours(X, planted.bags, again, 8)
    ones, unit = np.ones(len(X)), scale_to_unit(planted.X)
    posterior = fit_posterior(unit, again, ones, ones > 0).measure(unit)
    inside = share[again].mean()
    expected = inside * share + (1 - inside) * posterior
    np.testing.assert_allclose(found.scores_ + found.threshold_, expected, atol=1e-4)


def test_the_explanation_of_a_finished_vote_sums_to_its_score(planted):
    found = Revote(NegativeVotes()).fit(planted.X, planted.y, bags=planted.bags)
    again = found.decision_function(planted.X, bags=planted.bags)
    np.testing.assert_allclose(again, found.scores_, atol=1e-5)
    explained = found.explain(3)
    assert explained.amounts.sum() + explained.constant == pytest.approx(found.scores_[3], abs=1e-5)


def test_annotate_and_predict_finish_a_voter(scenes, tmp_path):
    settings = replace(QUICK, voter="f-neg", finish=True)
    run = annotate(scenes / "with", scenes / "without", tmp_path / "run", settings, n_jobs=1)
    assert run.record.settings["finish"] is True
    assert predict(tmp_path / "run", scenes / "with", tmp_path / "new", n_jobs=1).images
    with pytest.raises(BadInputError, match="expected a voter with --finish, got ekde"):
        annotate(scenes / "with", scenes / "without", tmp_path / "no", replace(settings, voter="ekde"), n_jobs=1)
