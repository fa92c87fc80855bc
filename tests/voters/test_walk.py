"""The robust eKDE: against the iteration written plainly, and on planted objects."""

import numpy as np
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, GroupKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from segvote.datasets import make_bags
from segvote.kernels import otsu_threshold
from segvote.voters.negative.crane import CRANE
from segvote.voters.negative.negatives import NegMin
from segvote.voters.walk import Walk


@pytest.fixture(scope="module")
def planted():
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


def test_the_planted_object_is_found_where_the_negatives_alone_mislead(planted):
    X, y, bags, truth = planted
    found = Walk().fit(X, y, bags=bags).scores_ > 0
    precision, recall = measure_f1(found & (y == 1), truth)
    assert precision > 0.95
    assert recall > 0.95
    for rival in (NegMin(), CRANE()):
        selected = (rival.fit(X, y, bags=bags).scores_ > 0) & (y == 1)
        assert min(measure_f1(selected, truth)) < 0.8


def test_new_segments_are_scored_by_the_same_rule(planted):
    X, y, bags, _ = planted
    voter = Walk().fit(X, y, bags=bags)
    np.testing.assert_allclose(voter.decision_function(X, bags=bags), voter.scores_, rtol=1e-9, atol=1e-12)


def test_unknown_bags_leave_nobody_out(planted):
    X, y, bags, _ = planted
    voter = Walk().fit(X, y, bags=bags)
    strangers = voter.decision_function(X[:5], bags=np.full(5, 10**6))
    np.testing.assert_array_equal(strangers, voter.decision_function(X[:5]))


def test_a_correction_stands_and_spreads(planted):
    X, y, bags, truth = planted
    plain = Walk().fit(X, y, bags=bags)
    user_labels = np.full(len(X), -1)
    wrong = np.flatnonzero(truth)[0]
    user_labels[wrong] = 0
    corrected = Walk().fit(X, y, bags=bags, user_labels=user_labels)
    assert corrected.weights_[wrong] == 0
    others = truth & (np.arange(len(X)) != wrong)
    assert corrected.graph_[others].tocsc()[:, [wrong]].sum() > 0
    assert (corrected.scores_ + corrected.threshold_)[others].mean() < (plain.scores_ + plain.threshold_)[others].mean()


def test_an_object_found_in_a_without_bag_votes_for(planted):
    X, y, bags, _ = planted
    user_labels = np.full(len(X), -1)
    user_labels[np.flatnonzero(y == 0)[0]] = 1
    assert Walk().fit(X, y, bags=bags, user_labels=user_labels).weights_[np.flatnonzero(y == 0)[0]] == 1


def test_the_posterior_is_one_half_at_the_threshold(planted):
    X, y, bags, _ = planted
    voter = Walk().fit(X, y, bags=bags)
    raw = np.array([0.0, voter.threshold_, 1e6 * voter.threshold_])
    np.testing.assert_allclose(voter._posterior(raw), [0, 0.5, 1], atol=1e-5)


def test_a_low_prior_lowers_the_weight(planted):
    X, y, bags, truth = planted
    prior = np.where(truth, 0.5, 1.0)
    believed, distrusted = (Walk().fit(X, y, bags=bags, prior=s).weights_[truth].mean() for s in (None, prior))
    assert distrusted < believed


def test_one_bag_of_each_kind_is_enough():
    X, y, bags, _ = make_bags(n_with=1, n_without=1, seed=0)
    assert np.isfinite(Walk().fit(X, y, bags=bags).scores_).all()


def test_identical_segments_get_identical_scores():
    X, y, bags = np.zeros((12, 3)), np.repeat([0, 1], 6), np.repeat(np.arange(4), 3)
    scores = Walk(n_neighbors=20).fit(X, y, bags=bags).scores_
    assert np.isfinite(scores).all()
    assert np.ptp(scores[:3]) == 0


def test_it_works_in_pipelines_and_grid_search(planted):
    X, y, bags, _ = planted
    voter = make_pipeline(StandardScaler(), Walk())
    assert clone(voter).set_params(walk__n_steps=5).fit(X, y, walk__bags=bags).predict(X).shape == y.shape
    search = GridSearchCV(Walk(), {"n_neighbors": [10, 20]}, cv=GroupKFold(3), scoring="roc_auc")
    assert search.fit(X, y, groups=bags).best_score_ > 0.5


def test_bags_travel_by_metadata_routing(planted):
    X, y, bags, _ = planted
    with config_context(enable_metadata_routing=True):
        voter = make_pipeline(StandardScaler(), Walk())
        search = GridSearchCV(voter, {"walk__n_neighbors": [20]}, cv=GroupKFold(3), scoring="roc_auc")
        search.fit(X, y, groups=bags, bags=bags)
    best = search.best_estimator_[-1]
    assert len(np.unique(best._segments.bags)) == len(np.unique(bags))
