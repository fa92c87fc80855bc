"""Corrections: similarity, residuals, and the votes they turn, each from its definition."""

from dataclasses import replace

import numpy as np
import pytest
from made_tables import hold, hold_wrong, label, make_scene

from segvote.method.correct import (
    ELSEWHERE,
    LEAST,
    NOISE,
    WIDTH,
    Similarity,
    correct,
    correct_vote,
    make_estimate,
    move_scores,
    propagate,
    refit_with_labels,
)
from segvote.method.table import make_table


@pytest.fixture
def points():
    rng = np.random.default_rng(0)
    return rng.normal(size=(60, 5)).astype(np.float32), np.repeat(np.arange(6), 10)


def measure_slowly(X, images):
    """All pairs, in double precision, from the definition."""
    squared = ((X[:, None].astype(float) - X[None]) ** 2).sum(axis=2)
    other = images[:, None] != images
    typical = [np.sort(row[there])[9] for row, there in zip(squared, other, strict=True)]
    similar = np.exp(-squared / (WIDTH * np.median(typical))) * np.where(other, ELSEWHERE, 1.0)
    return np.where(similar >= LEAST, similar, 0)


def test_columns_are_those_of_the_definition(points):
    X, images = points
    found = Similarity(X, images).measure(np.array([3, 17, 59])).toarray()
    np.testing.assert_allclose(found, measure_slowly(X, images)[:, [3, 17, 59]], rtol=1e-4, atol=2 * LEAST * 1e-3)


# Residuals

N_BAGS, N_EACH = 4, 12


@pytest.fixture
def setting():
    """Four images, three *with*; every image has pairs of segments with nearly the same features."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(N_BAGS * N_EACH, 6)).astype(np.float32)
    X[1::2] = X[::2] + np.float32(0.01)
    images = np.repeat(np.arange(N_BAGS), N_EACH)
    table = make_table(X, np.array([True, True, True, False]), images)
    scores = rng.uniform(-1, 3, len(X))
    return Similarity(X, images), table, scores, np.array([0.5, 0.2, 0.8, 0.0])


def move(setting, objects=(), background=(), painted=None):
    n_segments = N_BAGS * N_EACH
    shares = np.zeros(n_segments)
    for segment, share in (painted or {}).items():
        shares[segment] = share
    return move_scores(*setting, label(n_segments, objects, background), shares)


def test_a_corrected_segment_is_as_certain_as_can_be(setting):
    scores, after = setting[2], move(setting, [0], [15])[0]
    assert after[0] == pytest.approx(scores[:N_EACH].max()) and after[15] == pytest.approx(scores.min())


def test_segments_that_are_not_similar_are_left_to_the_bit(setting):
    far = setting[0].measure(np.array([0])).toarray()[:, 0] == 0
    assert far.sum() > N_EACH
    np.testing.assert_array_equal(move(setting, [0])[0][far], setting[2][far])


def test_a_without_image_is_moved_by_its_own_labels_only(setting):
    scores, after = setting[2], move(setting, [36])[0]
    assert after[36] == pytest.approx(scores.max())
    np.testing.assert_array_equal(after[37:], scores[37:])


def test_equal_corrections_do_not_add_up():
    """A hundred equal labels move similar segments to the label, not a hundred times as far."""
    X = np.zeros((202, 3), dtype=np.float32)
    X[101:] = np.random.default_rng(0).normal(size=(101, 3)).astype(np.float32)
    images, scores = np.repeat([0, 1], 101), np.linspace(-1, 1, 202)
    scores[:101], scores[0] = -0.5, 1.0
    table = replace(make_table(X, np.array([True, False]), images), positive=np.array([True, True]))
    given = table, scores, np.zeros(2), label(202, range(1, 100)), np.zeros(202)
    residuals = move_scores(Similarity(X, images), *given)[1]
    assert 0.9 < residuals[[100]].toarray().sum() / (1 + 0.5) <= 1.0


def test_strengths_solve_the_gaussian_process(setting):
    """Certainties move by K (K + noise)^-1 r, before they are clipped."""
    similarity, _, scores, thresholds = setting
    scores[:N_EACH] = 0.5 + 0.01 * np.arange(N_EACH)
    scores[3], voters = 3.0, np.array([0, 4])
    after = move(setting, [0], [4])[0]
    certainty = (scores[:N_EACH] - 0.5) / 2.5
    K = similarity.measure(voters).toarray()[:N_EACH]
    strengths = np.linalg.solve(K[voters] + NOISE * np.eye(2), np.array([1.0, -1.0]) - certainty[voters])
    expected = np.clip(certainty + K @ strengths, -1, 1)
    for segment in (1, 5):
        above = after[segment] > thresholds[0]
        scale = 2.5 if above else thresholds[0] - scores.min()
        assert (after[segment] - thresholds[0]) / scale == pytest.approx(expected[segment], abs=1e-6)


def test_a_painted_share_moves_similar_segments_in_proportion(setting):
    scores = setting[2]
    scores[[0, 1]], scores[2] = -1.0, 3.0
    pushes = {share: move(setting, painted={0: share})[0][1] - scores[1] for share in (0.1, 0.3, 0.6, 1.0)}
    assert sorted(pushes.values()) == list(pushes.values()) and pushes[0.1] > 0
    assert pushes[1.0] == pytest.approx(move(setting, [0])[0][1] - scores[1])
    # Noise NOISE / p: from surely background to 2 / (1 + NOISE / p) above it.
    certainty = -1 + 2 / (1 + NOISE / 0.6)
    after = scores[1] + pushes[0.6]
    assert (after - 0.5) / ((3.0 if certainty > 0 else 0.5 + 1.0) - 0.5) == pytest.approx(certainty, abs=0.02)


def test_a_painted_share_does_not_hold_for_its_segment(setting):
    scores = setting[2]
    scores[[0, 1]] = -1.0
    after, residuals = move(setting, background=[2], painted={0: 0.3, 13: -0.5})
    assert set(residuals.indices) == {0, 2, 13} and -1.0 < after[0] < scores[:N_EACH].max()
    np.testing.assert_allclose(residuals.sum(axis=1).A1, after - scores, atol=1e-12)


# From a vote to a corrected one

IMAGES = np.repeat(np.arange(20), 10)
SIX = [1, 11, 21, 31, 41, 51]  # the second segments of six images: together they turn those of other images


@pytest.fixture(scope="module")
def base():
    """The first segment of the first ten images is the object; the next two are similar, and the same everywhere."""
    rng = np.random.default_rng(0)
    place, positive = np.arange(200) % 10, IMAGES < 10
    X = rng.normal(0, 0.1, (200, 3))
    X[positive & (place == 0)] += [1, 0, 0]
    X[place == 1] = [0, 1, 0] + rng.normal(0, 0.01, (20, 3))
    X[place == 2] = X[place == 1] + 0.01
    return hold((X, positive, IMAGES, None, None), n_neighbors=8)


def paint(base, painted=(), clicked=(), share=1.0, refitted=None):
    """The vote with segments painted (by a share of them) or clicked as object."""
    labels, shares = label(200, clicked), np.zeros(200)
    shares[list(painted)] = share
    if share >= 0.8:
        labels[list(painted)] = 1
    estimates = make_estimate(base), make_estimate(refitted or base)
    return correct(*estimates, Similarity(base.table.X, IMAGES), labels, shares)


def test_painted_segments_move_other_images_only(base):
    before, after = base.selection, paint(base, painted=SIX).selection
    assert after.selected[SIX].all() and (after.scores[SIX] > before.scores[SIX]).all()
    own = (IMAGES < 6) & (after.user_labels < 0)
    np.testing.assert_array_equal(after.scores[own], before.scores[own])
    np.testing.assert_array_equal(after.selected[own], before.selected[own])
    assert after.selected[91] and not before.selected[91]


def test_a_clicked_segment_moves_its_own_image_too(base):
    correction = paint(base, clicked=[1])
    after = correction.selection
    assert after.selected[2] and not correction.kept[0]
    moved = propagate(make_estimate(base), Similarity(base.table.X, IMAGES), after.user_labels).selection
    np.testing.assert_array_equal(after.scores[:10], moved.scores[:10])


def test_beside_a_click_a_stroke_does_not_move_its_image(base):
    both, clicked = paint(base, painted=[5], clicked=[1]).selection, paint(base, clicked=[1]).selection
    rest = (IMAGES == 0) & (both.user_labels < 0)
    np.testing.assert_array_equal(both.scores[rest], clicked.scores[rest])


def test_segments_painted_in_part_are_decided_by_the_vote(base):
    after = paint(base, painted=SIX, share=0.79).selection
    np.testing.assert_array_equal(after.scores[SIX], base.selection.scores[SIX])
    assert after.selected[91]


def test_an_image_in_which_no_segment_turns_keeps_its_scores(base):
    labels, before = label(200, [1, 2]), base.selection
    refitted = refit_with_labels(base, labels)
    assert (refitted.selection.scores != before.scores).any()
    correction = paint(base, clicked=[1, 2], refitted=refitted)
    after, kept = correction.selection, correction.kept
    turned = np.bincount(IMAGES, after.selected != np.where(labels == 1, True, before.selected)) > 0
    np.testing.assert_array_equal(kept, ~turned)
    rest = kept[IMAGES] & (labels < 0)
    for name in ("scores", "unsmoothed", "selected"):
        np.testing.assert_array_equal(getattr(after, name)[rest], getattr(before, name)[rest])
    np.testing.assert_array_equal(replace(refitted, selection=after).weights[rest], base.weights[rest])
    for name in ("thresholds", "uncertainty"):
        pair = (getattr(after, name), getattr(before, name))
        np.testing.assert_array_equal(*(values[1:][kept[1:]] for values in pair))
    assert after.selected[[1, 2]].all()


@pytest.mark.parametrize("clicked", [(), (1, 14)])
def test_amounts_of_corrections_sum_to_what_they_changed(base, clicked):
    after = paint(base, painted=[2, 45], clicked=clicked)
    total = np.asarray(after.residuals.sum(axis=1)).ravel()
    np.testing.assert_allclose(total, after.selection.scores - base.selection.scores, atol=1e-9)
    assert set(after.residuals.indices) == {2, 45, *clicked}


def test_without_corrections_the_selection_is_the_base(base):
    for given in ((None,), (label(200), np.zeros(200))):
        refitted, correction = correct_vote(base, *given)
        assert refitted is base and correction.selection is base.selection
        assert correction.kept.all() and not correction.residuals.nnz


def test_user_labels_hold_and_move_similar_segments():
    scene = make_scene(noise=0.3)
    vote, labels = hold(scene), label(480, [9, 479], [5])
    base, before = vote.selection, [np.copy(vote.selection.scores), np.copy(labels)]
    after = correct_vote(vote, labels)[1].selection
    assert after.selected[[9, 479]].all() and not after.selected[5]
    moved = propagate(make_estimate(vote), Similarity(scene[0], scene[2]), labels).selection
    assert (moved.scores[[6, 25]] < base.scores[[6, 25]]).all()
    assert np.array_equal(before[0], base.scores) and np.array_equal(before[1], labels)


def test_clicks_do_not_turn_a_vote_over():
    base, truth = hold_wrong()
    labels = label(len(truth), [np.flatnonzero(truth)[0]], [np.flatnonzero(base.table.is_candidate & ~truth)[0]])
    before, after = base.selection.selected, correct_vote(base, labels)[1].selection.selected
    other = ~np.isin(base.table.images, base.table.images[labels >= 0])
    assert (before == after)[other].mean() > 0.95
