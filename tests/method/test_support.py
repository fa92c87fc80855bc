"""*With* images in which nothing is supported come out empty, if that is allowed; the others do not."""

import numpy as np
import pytest

from segvote.errors import BadInputError
from segvote.method import SegmentAnnotator
from segvote.method.support import find_unsupported, measure_p_value
from segvote.voters import VOTERS

N_SEGMENTS = 20


def make_segments(n_object, n_clean, n_without, seed=0):
    """Five kinds of background everywhere; an object of two segments in the first images only.

    Returns features, labels and images of the segments, and which are object.
    """
    rng = np.random.default_rng(seed)
    n_images = n_object + n_clean + n_without
    images = np.repeat(np.arange(n_images), N_SEGMENTS)
    background = rng.normal(0, 1, (5, 8))
    X = background[rng.integers(0, 5, len(images))] + rng.normal(0, 0.3, (len(images), 8))
    is_object = (np.arange(len(images)) % N_SEGMENTS < 2) & (images < n_object)
    X[is_object] = rng.normal(0, 0.3, (is_object.sum(), 8)) + np.eye(8)[0] * 3
    return X.astype(np.float32), images < n_object + n_clean, images, is_object


def fit(segments, **parameters):
    X, y, images, _ = segments
    return SegmentAnnotator(**parameters).fit(X, y, images=images)


def test_clean_images_come_out_empty_and_the_object_stays():
    n_kept = 0
    for seed in range(3):
        segments = make_segments(12, 8, 30, seed)
        annotator = fit(segments, allow_empty=True)
        assert not annotator.empty_[:12].any() and not annotator.empty_[20:].any()
        assert annotator.result_.selected[segments[3]].all()
        assert not annotator.result_.selected[annotator.empty_[segments[2]]].any()
        n_kept += np.count_nonzero(~annotator.empty_[12:20])
    # One in twenty may be kept, of twenty-four.
    assert n_kept <= 2


def test_unless_allowed_every_with_image_keeps_its_best_segment():
    X, y, images, _ = make_segments(12, 8, 30)
    annotator = fit((X, y, images, None))
    assert not annotator.empty_.any()
    assert (np.bincount(images, annotator.result_.selected)[:20] >= 1).all()


def test_images_that_stay_are_selected_as_before():
    # A seed without a second opinion, which is heard only where every *with* image shows the object.
    segments = make_segments(12, 8, 30, seed=3)
    plain, unsure = fit(segments), fit(segments, allow_empty=True)
    stays = ~unsure.empty_[segments[2]]
    assert np.array_equal(plain.result_.selected[stays], unsure.result_.selected[stays])
    assert np.array_equal(plain.result_.scores, unsure.result_.scores)


def test_two_folders_of_clean_images_keep_about_one_in_twenty():
    kept = [np.count_nonzero(~fit(make_segments(0, 20, 30, seed), allow_empty=True).empty_[:20]) for seed in range(6)]
    assert sum(kept) <= 0.1 * 20 * len(kept)


def test_a_user_label_holds_in_an_empty_image():
    X, y, images, _ = make_segments(12, 8, 30)
    user_labels = np.full(len(X), -1, dtype=np.int8)
    place = int(np.flatnonzero(images == 15)[3])
    user_labels[place] = 1
    annotator = fit((X, y, images, None), allow_empty=True)
    assert annotator.empty_[15]
    assert annotator.correct(user_labels).selected[place]
    # Said before the vote, the image shows the object.
    assert not SegmentAnnotator(allow_empty=True).fit(X, y, images=images, user_labels=user_labels).empty_[15]


def test_nothing_of_an_empty_image_is_above_its_threshold():
    X, y, images, _ = make_segments(12, 8, 30)
    result = fit((X, y, images, None), allow_empty=True).result_
    part = images == 15
    assert result.thresholds[15] == result.scores[part].max()
    assert np.isfinite(result.thresholds).all()


def test_a_new_vote_with_other_labels_decides_again():
    X, y, images, _ = make_segments(12, 8, 30)
    annotator = fit((X, y, images, None), allow_empty=True)
    again = annotator.revote(np.arange(50) < 14)
    assert np.flatnonzero(again.empty_).tolist() == [12, 13]


def test_another_voter_is_refused():
    with pytest.raises(BadInputError, match="allow_empty"):
        fit(make_segments(3, 2, 4), voter=VOTERS["crane"](), allow_empty=True)


def test_the_p_value_is_the_share_that_scores_as_high_counted_one_by_one():
    rng = np.random.default_rng(0)
    negatives, scores = np.sort(rng.integers(0, 9, 30)).astype(float), np.arange(-1.0, 11.0)
    slowly = [(1 + sum(negative >= score for negative in negatives)) / 31 for score in scores]
    assert measure_p_value(scores, negatives).tolist() == slowly


def test_few_without_images_must_all_be_exceeded():
    scores, positive = np.array([3.0, 2.0, 1.0, 2.0]), np.array([True, True, False, False])
    trusted = np.ones(4, dtype=bool)
    assert find_unsupported(scores, positive, trusted).tolist() == [False, True, False, False]
    trusted[3] = False
    assert find_unsupported(scores, positive, trusted).tolist() == [False, False, False, False]
