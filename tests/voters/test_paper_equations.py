"""Every numbered equation of arXiv 1812.06228 against plain numpy.

The iteration and the bandwidths are in `test_paper.py`, the baselines by themselves in their own files.
"""

from itertools import product

import numpy as np
import pytest

from segvote.method.threshold import decide_best_segment, select_above
from segvote.voters.crane import CRANE
from segvote.voters.negatives import NegativeVotes, NegMin
from segvote.voters.paper import PaperEKDE

pytestmark = pytest.mark.filterwarnings("ignore:the printed iteration selected:UserWarning")
S = 2.0  # bandwidth


def make_kernel(X, V):
    return np.exp(-((X[:, None] - V[None]) ** 2).sum(axis=2) / (2 * S**2))


def fit(planted, **changes):
    voter = PaperEKDE(bandwidth_for=S, bandwidth_against=S, max_iter=3, tol=0)
    return voter.fit(planted.X, planted.y, bags=planted.bags, **changes)


@pytest.fixture(scope="module")
def soft(planted):
    """The voter after three rounds: weights between 0 and 1."""
    return fit(planted)


@pytest.fixture(scope="module")
def hard(planted):
    """The voter when every segment of the *with* bags has a label, here the true one."""
    return fit(planted, user_labels=np.where(planted.candidates, planted.truth, -1))


@pytest.fixture(scope="module")
def new(planted):
    """Points that are no training segments."""
    return planted.X[::7] + np.random.default_rng(1).normal(0, 0.3, size=planted.X[::7].shape)


def split(planted):
    return planted.X[planted.y == 1], planted.X[planted.y == 0]


def weigh_labels(labels, weights):
    """Eq. 9: probability of each label, 1 or -1, given w."""
    return weights ** ((1 + labels) / 2) * (1 - weights) ** ((1 - labels) / 2)


def test_eq_1_is_the_nearest_of_every_negative_bag(planted, new):
    voter = NegMin(reading="bag", bandwidth=S).fit(planted.X, planted.y, bags=planted.bags)
    kernels = make_kernel(new, planted.X)
    # The minimum over u with one 1 in each bag: minus the greatest similarity, bag by bag.
    expected = -sum(kernels[:, planted.bags == bag].max(axis=1) for bag in np.unique(planted.bags[planted.y == 0]))
    np.testing.assert_allclose(voter.decision_function(new) + voter.threshold_, expected, rtol=1e-4)


def test_eq_2_is_the_best_segment_of_each_positive_bag(planted):
    voter = NegMin(reading="bag", bandwidth=S).fit(planted.X, planted.y, bags=planted.bags)
    parts = [voter.scores_[planted.bags == bag] for bag in np.unique(planted.bags[planted.y == 1])]
    thresholds = decide_best_segment(parts, [np.ones(len(part)) for part in parts])
    for part, threshold in zip(parts, thresholds, strict=True):
        assert np.flatnonzero(select_above(part, threshold)).tolist() == [int(np.argmax(part))]


def test_eq_3_counts_negatives_nearest_to_a_segment(planted):
    voter = CRANE().fit(planted.X, planted.y, bags=planted.bags)
    P, N = split(planted)
    similarity = make_kernel(P, N)
    expected = -(similarity >= similarity.max(axis=0)).sum(axis=1)
    np.testing.assert_array_equal((voter.scores_ + voter.threshold_)[planted.y == 1], expected)


def test_eq_4_votes_are_labels_times_similarities(planted, hard, new):
    explained = hard.explain(new[0])
    labels = np.where(planted.truth, 1, -1)[explained.voters]
    expected = labels * make_kernel(new[:1], planted.X[explained.voters])[0]
    np.testing.assert_allclose(explained.amounts, expected, rtol=1e-4, atol=1e-9)


def test_eq_5_votes_are_split_by_the_soft_label(planted, soft, new):
    explained = soft.explain(new[0])
    w, kernels = soft.weights_[explained.voters], make_kernel(new[:1], planted.X[explained.voters])[0]
    assert ((w[planted.y[explained.voters] == 1] > 0) & (w[planted.y[explained.voters] == 1] < 1)).all()
    np.testing.assert_allclose(explained.amounts, w * kernels - (1 - w) * kernels, rtol=1e-4, atol=1e-9)


def count_votes(planted, weights, X):
    """The two sums of eq. 6."""
    P, N = split(planted)
    w = weights[planted.y == 1]
    return make_kernel(X, P) @ w, make_kernel(X, N).sum(axis=1) + make_kernel(X, P) @ (1 - w)


def test_eq_6_is_votes_for_less_votes_against(planted, soft, new):
    votes_for, against = count_votes(planted, soft.weights_, new)
    np.testing.assert_allclose(soft.decision_function(new), votes_for - against, rtol=1e-4, atol=1e-6)


def test_eq_7_is_the_sign_of_the_score(planted, soft, hard, new):
    for voter in (soft, hard):
        votes_for, against = count_votes(planted, voter.weights_, new)
        np.testing.assert_array_equal(voter.predict(new), (votes_for > against).astype(int))
    assert 0 < hard.predict(new).mean() < 1


def test_eq_8_is_eq_6_of_negatives_alone(planted, new):
    voter = NegativeVotes(bandwidth=S).fit(planted.X, planted.y, bags=planted.bags)
    expected = -make_kernel(new, split(planted)[1]).sum(axis=1)
    np.testing.assert_allclose(voter.decision_function(new) + voter.threshold_, expected, rtol=1e-4)


def test_eq_9_is_the_bernoulli_distribution_of_a_label(planted, soft):
    posterior = soft.predict_proba(planted.X[planted.candidates])
    w = posterior[:, 1]
    np.testing.assert_allclose(weigh_labels(1, w), posterior[:, 1])
    np.testing.assert_allclose(weigh_labels(-1, w), posterior[:, 0])
    np.testing.assert_allclose(posterior.sum(axis=1), 1)


def test_eqs_10_and_11_are_densities_with_hard_labels(planted, hard, new):
    (P, N), y = split(planted), np.where(planted.truth, 1, -1)[planted.y == 1]
    counted_with, counted_without = (1 + y) / 2, (1 - y) / 2
    density_with = make_kernel(new, P) @ counted_with / counted_with.sum()
    summed = make_kernel(new, N).sum(axis=1) + make_kernel(new, P) @ counted_without
    density_without = summed / (len(N) + counted_without.sum())
    expected = np.column_stack([density_without, density_with])
    np.testing.assert_allclose(hard.class_densities(new), expected, rtol=1e-4, atol=1e-9)


def measure_densities(planted, weights, X):
    """Eq. 12: (n, 2) p(x | -1), p(x | 1)."""
    votes_for, against = count_votes(planted, weights, X)
    w = weights[planted.y == 1]
    return np.column_stack([against / ((planted.y == 0).sum() + (1 - w).sum()), votes_for / w.sum()])


def test_eq_12_is_the_density_with_soft_labels(planted, soft, new):
    expected = measure_densities(planted, soft.weights_, new)
    np.testing.assert_allclose(soft.class_densities(new), expected, rtol=1e-4, atol=1e-9)


def test_eq_12_is_a_ratio_of_expectations_over_labels(rng):
    """Over all labellings: both sums of eq. 10 have the expectations of eq. 12, their ratio has another."""
    kernels, w = rng.random(7), rng.random(7)
    labellings = np.array(list(product([-1, 1], repeat=7)))
    probability = weigh_labels(labellings, w).prod(axis=1)
    counted = (1 + labellings) / 2
    assert probability.sum() == pytest.approx(1)
    assert probability @ (counted @ kernels) == pytest.approx(w @ kernels)
    assert probability @ counted.sum(axis=1) == pytest.approx(w.sum())
    some = counted.sum(axis=1) > 0  # without any positive label eq. 10 is 0 / 0
    ratio = (counted[some] @ kernels) / counted[some].sum(axis=1)
    assert probability[some] @ ratio / probability[some].sum() != pytest.approx(w @ kernels / w.sum(), abs=1e-3)


def measure_priors(planted, weights):
    """Eq. 16: p(-1), p(1)."""
    w = weights[planted.y == 1]
    return np.array([(planted.y == 0).sum() + (1 - w).sum(), w.sum()]) / len(planted.y)


def test_eq_13_map_is_the_sign_of_the_votes(planted, soft, hard, new):
    for voter in (soft, hard):
        joint = measure_densities(planted, voter.weights_, new) * measure_priors(planted, voter.weights_)
        np.testing.assert_array_equal(voter.predict(new), joint.argmax(axis=1))


def test_eq_14_posteriors_are_densities_times_priors(planted, soft, new):
    joint = measure_densities(planted, soft.weights_, new) * measure_priors(planted, soft.weights_)
    expected = joint / joint.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(soft.predict_proba(new), expected, rtol=1e-4, atol=1e-9)


def test_eq_15_difference_of_weighted_densities_is_eq_6(planted, soft, new):
    joint = measure_densities(planted, soft.weights_, new) * measure_priors(planted, soft.weights_)
    difference = (joint[:, 1] - joint[:, 0]) * len(planted.y)  # N can be left out of the sign
    np.testing.assert_allclose(soft.decision_function(new), difference, rtol=1e-4, atol=1e-6)


def test_eq_16_priors_are_mean_soft_labels(planted, soft):
    np.testing.assert_allclose(soft.class_priors_, measure_priors(planted, soft.weights_), rtol=1e-9)


def test_eq_17_the_update_is_the_posterior_of_a_segment(planted, soft):
    one_more = PaperEKDE(bandwidth_for=S, bandwidth_against=S, max_iter=4, tol=0)
    one_more.fit(planted.X, planted.y, bags=planted.bags)
    joint = measure_densities(planted, soft.weights_, planted.X) * measure_priors(planted, soft.weights_)
    expected = (joint[:, 1] / joint.sum(axis=1))[planted.candidates]
    np.testing.assert_allclose(one_more.weights_[planted.candidates], expected, rtol=1e-4, atol=1e-9)
