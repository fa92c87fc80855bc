"""The paper to the letter: its formulas, and its collapse."""

import warnings

import numpy as np
import pytest

from segvote.datasets import make_bags
from segvote.voters import bandwidths
from segvote.voters.bandwidths import GRID, choose_bandwidths, measure_unit, search_window
from segvote.voters.base import check_segments
from segvote.voters.paper import PaperEKDE


@pytest.fixture(scope="module")
def planted():
    return make_bags(n_with=6, n_without=6, n_segments=15, n_object=3, n_odd=2, seed=2)


def fit(planted, **parameters):
    X, y, bags, _ = planted
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return PaperEKDE(**parameters).fit(X, y, bags=bags)


def make_kernel(X, V, bandwidth):
    return np.exp(-((X[:, None] - V[None]) ** 2).sum(-1) / (2 * bandwidth**2))


def iterate_slow(P, N, s_for, s_against, n_iter):
    """Eq. 6 and 17, plainly."""
    weights = np.ones(len(P))
    for _ in range(n_iter):
        votes_for = make_kernel(P, P, s_for) @ weights
        against = make_kernel(P, N, s_against).sum(1) + make_kernel(P, P, s_against) @ (1 - weights)
        weights = votes_for / (votes_for + against)
    votes_for = make_kernel(P, P, s_for) @ weights
    against = make_kernel(P, N, s_against).sum(1) + make_kernel(P, P, s_against) @ (1 - weights)
    return weights, votes_for, against


@pytest.mark.parametrize("bandwidths", [(2.0, 2.0), (3.0, 1.5)])
def test_the_iteration_equals_the_printed_equations(planted, bandwidths):
    X, y, _, _ = planted
    voter = fit(planted, bandwidth_for=bandwidths[0], bandwidth_against=bandwidths[1], max_iter=7, tol=0)
    weights, votes_for, against = iterate_slow(X[y == 1], X[y == 0], *bandwidths, 7)
    np.testing.assert_allclose(voter.weights_[y == 1], weights, rtol=1e-4, atol=1e-7)
    np.testing.assert_allclose(voter.scores_[y == 1], votes_for - against, rtol=1e-4, atol=1e-5)


def test_equal_bandwidths_make_a_walk_that_collapses(planted):
    X, y, *_ = planted
    P, N, s = X[y == 1], X[y == 0], 2.0
    total = make_kernel(P, P, s).sum(1) + make_kernel(P, N, s).sum(1)
    M = make_kernel(P, P, s) / total[:, None]
    for steps in (1, 4, 9):
        voter = fit(planted, bandwidth_for=s, bandwidth_against=s, max_iter=steps, tol=0)
        survived = np.linalg.matrix_power(M, steps) @ np.ones(len(P))
        np.testing.assert_allclose(voter.weights_[y == 1], survived, rtol=1e-4, atol=1e-6)
        # f_i = T_i (2 w_i_new - 1): the sign of f asks whether one more step keeps the walk alive.
        np.testing.assert_allclose(voter.scores_[y == 1], total * (2 * (M @ survived) - 1), rtol=1e-3, atol=1e-4)


def test_run_to_the_end_equal_bandwidths_select_nothing():
    # No odd segments: one that no negative reaches would vote for itself for ever.
    X, y, bags, _ = make_bags(n_with=6, n_without=6, n_segments=15, n_object=3, n_odd=0, seed=2)
    with pytest.warns(UserWarning, match="selected no segment .*<= 1, the only fixed point is w = 0"):
        end = PaperEKDE(bandwidth_for=3.0, bandwidth_against=3.0, max_iter=20000, tol=1e-9).fit(X, y, bags=bags)
    assert end.rho_ < 1
    assert end.weights_.max() < 0.01
    assert not (end.scores_[y == 1] > 0).any()


def test_the_map_rule_and_the_sign_of_f_agree(planted):
    X, *_ = planted
    voter = fit(planted, bandwidth_for=2.0, bandwidth_against=1.5, max_iter=5)
    densities = voter.class_densities(X)
    chosen = np.argmax(densities * voter.class_priors_, axis=1) == 1
    assert np.array_equal(chosen, voter.decision_function(X) > 0)
    assert voter.class_priors_.sum() == pytest.approx(1)


def test_rho_is_the_spectral_radius(planted):
    X, y, _, _ = planted
    P, N = X[y == 1], X[y == 0]
    J = make_kernel(P, P, 2.5) / (make_kernel(P, N, 1.5).sum(1) + make_kernel(P, P, 1.5).sum(1))[:, None]
    expected = np.abs(np.linalg.eigvals(J)).max()
    assert fit(planted, bandwidth_for=2.5, bandwidth_against=1.5).rho_ == pytest.approx(expected, rel=1e-3)


def test_the_window_selects_the_planted_object():
    X, y, bags, truth = make_bags(n_with=12, n_without=12, n_segments=25, n_object=5, n_odd=0, seed=4)
    voter = fit((X, y, bags, truth), bandwidth_rule="window")
    selected = (voter.scores_ > 0) & (y == 1)
    assert (selected & truth).sum() / selected.sum() > 0.9
    assert (selected & truth).sum() / truth.sum() > 0.9
    assert voter.rho_ > 1
    assert not (fit((X, y, bags, truth), bandwidth_rule="discrepancy").scores_[y == 1] > 0).any()


def test_the_search_settles_where_the_printed_iteration_does(monkeypatch):
    # No odd segments: one that no negative reaches votes for itself and settles very slowly.
    X, y, bags, _ = make_bags(n_with=6, n_without=6, n_segments=15, n_object=3, n_odd=0, seed=2)
    monkeypatch.setattr(bandwidths, "WINDOW_TOL", 1e-7)
    segments = check_segments(X, y == 1, bags, None, None)
    unit = measure_unit(segments)
    for point in search_window(segments, scales=(0.5, 0.7), ratios=(1.1, 1.3)):
        s_against = point.scale * unit
        _, votes_for, against = iterate_slow(X[y == 1], X[y == 0], point.ratio * s_against, s_against, 400)
        np.testing.assert_allclose(point.scores[y == 1], votes_for - against, rtol=1e-3, atol=1e-3)
        exact = fit((X, y, bags, None), bandwidth_for=point.ratio * s_against, bandwidth_against=s_against).rho_
        assert point.rho == pytest.approx(exact, rel=1e-2)


def test_the_plausibility_is_its_formula(planted):
    X, y, bags, _ = planted
    segments = check_segments(X, y == 1, bags, None, None)
    rng = np.random.default_rng(0)
    selected, share = (rng.random(len(X)) < 0.3) & (y == 1), rng.random(len(X))
    best = np.mean([share[bags == bag].max() for bag in np.unique(bags[y == 0])])  # a twentieth of 15 is one
    expected = share[selected].mean() * (1 - share[(y == 1) & ~selected].mean()) * (1 - best)
    assert bandwidths.measure_consistency(segments, selected, share) == pytest.approx(expected)
    assert bandwidths.measure_consistency(segments, y == 1, share) == 0  # everything is no selection


@pytest.mark.parametrize("ratio", [1.0, 1.25])
def test_normalisers_cancel_for_equal_bandwidths_only(planted, ratio):
    X, y, *_ = planted
    options = {"bandwidth_for": 2 * ratio, "bandwidth_against": 2.0, "max_iter": 1, "tol": 0}
    plain, normalised = (fit(planted, normalised=flag, **options) for flag in (False, True))
    P, N = X[y == 1], X[y == 0]
    votes_for = ratio ** -X.shape[1] * make_kernel(P, P, 2 * ratio).sum(1)
    expected = votes_for / (votes_for + make_kernel(P, N, 2.0).sum(1))
    np.testing.assert_allclose(normalised.weights_[y == 1], expected, rtol=1e-4)
    assert np.allclose(plain.weights_, normalised.weights_) == (ratio == 1)


@pytest.mark.parametrize("rule", ["separate", "discrepancy"])
@pytest.mark.parametrize("seed", range(3))
def test_bandwidths_maximise_the_mean_difference(seed, rule):
    X, y, bags, _ = make_bags(n_with=5, n_without=6, n_segments=15, seed=seed)
    foreign, gains = bags[:, None] != bags, np.zeros((2, len(GRID)))
    for side, place in np.ndindex(gains.shape):
        kernels = np.where(foreign, make_kernel(X, X, GRID[place]), np.nan)[:, y == 1 - side]
        means = np.nanmean(kernels, axis=1)
        gains[side, place] = means[y == 1 - side].mean() - means[y == side].mean()
    if rule == "discrepancy":
        gains[:] = gains.sum(axis=0)
    best = tuple(GRID[place] for place in gains.argmax(axis=1))
    assert choose_bandwidths(check_segments(X, y == 1, bags, None, None), rule=rule) == best


def sum_pairs(X, y, at):
    """(7, 7, n) f at some segments for every pair of the grid, plainly."""
    P, N = X[y == 1], X[y == 0]
    votes_for = np.array([make_kernel(at, P, bandwidth).sum(axis=1) for bandwidth in GRID])
    against = np.array([make_kernel(at, N, bandwidth).sum(axis=1) for bandwidth in GRID])
    return votes_for[:, None] - against[None]


@pytest.mark.parametrize(
    ("rule", "n_without"), [("difference", 6), ("absolute-difference", 4), ("absolute-difference", 9)]
)
def test_the_plain_readings_are_degenerate(rule, n_without):
    X, y, bags, _ = make_bags(n_with=6, n_without=n_without, n_segments=15, seed=1)
    difference = sum_pairs(X, y, X[y == 1] if rule == "difference" else X)
    totals = (np.abs(difference) if rule == "absolute-difference" else difference).sum(axis=2)
    expected = tuple(GRID[place] for place in np.unravel_index(totals.argmax(), totals.shape))
    voter = fit((X, y, bags, None), bandwidth_rule=rule)
    assert (voter.bandwidth_for_, voter.bandwidth_against_) == expected
    assert max(expected) == GRID[-1]
    share = (voter.scores_[y == 1] > 0).mean()
    assert share in (0, 1)
