"""Corrections applied to a vote: what was painted, what was clicked, and what stays as it was."""

import numpy as np
import pytest
from segvote.steps.voting.corrected import apply_corrections

from segvote import SegmentAnnotator

N_IMAGES, N_SEGMENTS = 20, 10
IMAGES = np.repeat(np.arange(N_IMAGES), N_SEGMENTS)
SIX = [1, 11, 21, 31, 41, 51]  # the second segments of six images: together they turn those of other images


@pytest.fixture(scope="module")
def annotator():
    """The first segment of the first ten images is the object; the next two are alike, and the same everywhere."""
    rng = np.random.default_rng(0)
    place, positive = np.arange(len(IMAGES)) % N_SEGMENTS, IMAGES < 10
    X = rng.normal(0, 0.1, (len(IMAGES), 3))
    X[positive & (place == 0)] += [1, 0, 0]
    X[place == 1] = [0, 1, 0] + rng.normal(0, 0.01, (N_IMAGES, 3))
    X[place == 2] = X[place == 1] + 0.01
    return SegmentAnnotator(n_neighbors=8).fit(X, positive, images=IMAGES)


def correct(annotator, painted=(), clicked=(), share=1.0, taught=None):
    """Segments painted (by a share of them) or clicked as object."""
    labels, shares = np.full(len(IMAGES), -1, dtype=np.int8), np.zeros(len(IMAGES))
    shares[list(painted)] = share
    if share >= 0.8:
        labels[list(painted)] = 1
    labels[list(clicked)] = 1
    return apply_corrections(annotator, taught or annotator, IMAGES, labels, shares)


def test_painted_segments_turn_what_is_like_them_in_other_images_and_nothing_else_in_their_own(annotator):
    before, after = annotator.correct(None), correct(annotator, painted=SIX)
    assert after.selected[SIX].all() and (after.scores[SIX] > before.scores[SIX]).all()
    own = (IMAGES < 6) & (after.user_labels < 0)
    np.testing.assert_array_equal(after.scores[own], before.scores[own])
    np.testing.assert_array_equal(after.selected[own], before.selected[own])
    assert after.selected[91] and not before.selected[91]


def test_a_clicked_segment_turns_what_is_like_it_in_its_own_image_too(annotator):
    after = correct(annotator, clicked=[1])
    assert after.selected[2] and not after.kept[0]
    np.testing.assert_array_equal(after.scores[:N_SEGMENTS], annotator.correct(after.user_labels).scores[:N_SEGMENTS])


def test_in_an_image_that_was_painted_and_clicked_only_the_click_moves_the_rest(annotator):
    both, clicked = correct(annotator, painted=[5], clicked=[1]), correct(annotator, clicked=[1])
    rest = (IMAGES == 0) & (both.user_labels < 0)
    np.testing.assert_array_equal(both.scores[rest], clicked.scores[rest])


def test_segments_painted_in_part_are_themselves_decided_by_the_vote(annotator):
    before, after = annotator.correct(None), correct(annotator, painted=SIX, share=0.79)
    np.testing.assert_array_equal(after.scores[SIX], before.scores[SIX])
    assert after.selected[91]


def test_an_image_in_which_no_segment_turns_keeps_its_scores_to_the_bit(annotator):
    before, labels = annotator.correct(None), np.full(len(IMAGES), -1, dtype=np.int8)
    labels[[1, 2]] = 1
    taught = annotator.teach(labels)
    assert (taught.scores_ != annotator.scores_).any()
    after = correct(annotator, clicked=[1, 2], taught=taught)
    turned = np.bincount(IMAGES, after.selected != np.where(labels == 1, True, before.selected)) > 0
    np.testing.assert_array_equal(after.kept, ~turned)
    rest = after.kept[IMAGES] & (labels < 0)
    for name in ("scores", "votes", "weights", "selected"):
        np.testing.assert_array_equal(getattr(after, name)[rest], getattr(before, name)[rest])
    for name in ("thresholds", "uncertainty"):
        pair = (getattr(after, name), getattr(before, name))
        np.testing.assert_array_equal(*(values[1:][after.kept[1:]] for values in pair))
    assert after.selected[[1, 2]].all()


@pytest.mark.parametrize("clicked", [(), (1, 14)])
def test_amounts_of_corrections_sum_to_what_they_changed(annotator, clicked):
    before, after = annotator.correct(None), correct(annotator, painted=[2, 45], clicked=clicked)
    total = np.asarray(after.residuals.amounts.sum(axis=1)).ravel()
    np.testing.assert_allclose(total, after.scores - before.scores, atol=1e-9)
    np.testing.assert_array_equal(after.residuals.scores, after.scores)
    assert sorted(after.residuals.voters) == sorted([2, 45, *clicked])
