"""Corrections applied to a vote: what was painted, and what was clicked."""

import numpy as np
import pytest

from segvote import SegmentAnnotator
from segvote.steps.voting.corrected import apply_corrections

N_IMAGES, N_SEGMENTS = 20, 10
IMAGES = np.repeat(np.arange(N_IMAGES), N_SEGMENTS)


@pytest.fixture(scope="module")
def annotator():
    """The first segment of the first ten images is the object; the next two are like each other everywhere."""
    rng = np.random.default_rng(0)
    place, positive = np.arange(len(IMAGES)) % N_SEGMENTS, IMAGES < 10
    X = rng.normal(0, 0.1, (len(IMAGES), 3))
    X[positive & (place == 0)] += [1, 0, 0]
    X[place == 1] += [0, 1, 0]
    X[place == 2] = X[place == 1] + 0.01
    return SegmentAnnotator(n_neighbors=8).fit(X, positive, images=IMAGES)


def correct(annotator, painted=(), clicked=(), share=1.0, value=1):
    """Segments painted (by a share of them) or clicked."""
    labels, shares = np.full(len(IMAGES), -1, dtype=np.int8), np.zeros(len(IMAGES))
    for segment in painted:
        shares[segment] = share * (2 * value - 1)
        if share >= 0.8:
            labels[segment] = value
    labels[list(clicked)] = value
    return apply_corrections(annotator, IMAGES, labels, shares)


def test_a_painted_segment_moves_what_is_like_it_in_other_images_and_nothing_else_in_its_own(annotator):
    before, after = annotator.correct(None), correct(annotator, painted=[1])
    assert after.selected[1] and after.scores[1] > before.scores[1]
    own = (IMAGES == 0) & (np.arange(len(IMAGES)) != 1)
    np.testing.assert_array_equal(after.scores[own], before.scores[own])
    np.testing.assert_array_equal(after.selected[own], before.selected[own])
    assert after.scores[11] > before.scores[11] and after.scores[12] > before.scores[12]


def test_a_clicked_segment_moves_what_is_like_it_in_its_own_image_too(annotator):
    before, after = annotator.correct(None), correct(annotator, clicked=[1])
    assert after.scores[2] > before.scores[2]
    plain = annotator.correct(after.user_labels)
    np.testing.assert_array_equal(after.scores, plain.scores)


def test_in_an_image_that_was_painted_and_clicked_only_the_click_moves_the_rest(annotator):
    both, clicked = correct(annotator, painted=[5], clicked=[1]), correct(annotator, clicked=[1])
    rest = (IMAGES == 0) & (both.user_labels < 0)
    np.testing.assert_array_equal(both.scores[rest], clicked.scores[rest])


def test_a_segment_painted_in_part_is_itself_decided_by_the_vote(annotator):
    before, after = annotator.correct(None), correct(annotator, painted=[1], share=0.5)
    assert after.scores[1] == before.scores[1] and after.scores[11] > before.scores[11]


@pytest.mark.parametrize("clicked", [(), (1, 14)])
def test_amounts_of_corrections_sum_to_what_they_changed(annotator, clicked):
    before, after = annotator.correct(None), correct(annotator, painted=[2, 45], clicked=clicked)
    total = np.asarray(after.residuals.amounts.sum(axis=1)).ravel()
    np.testing.assert_allclose(total, after.scores - before.scores, atol=1e-9)
    np.testing.assert_array_equal(after.residuals.scores, after.scores)
    assert sorted(after.residuals.voters) == sorted([2, 45, *clicked])
