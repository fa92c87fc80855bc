"""Scores of images left out of the vote, p-values by them, and *with* images that come out empty."""

from dataclasses import replace

import numpy as np
from made_tables import hold, make_scene, tabulate

from segvote.method.correct import correct_vote, refit_with_labels
from segvote.method.cross_fit import find_unsupported, make_folds, measure_p_value
from segvote.method.graph import search_graph
from segvote.method.hypotheses import VoteParams
from segvote.method.table import make_table
from segvote.method.vote import make_inputs, vote

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


def fit(segments, **params):
    X, y, images, _ = segments
    table = make_table(X, y[np.unique(images, return_index=True)[1]], images)
    return vote(make_inputs(table, search_graph(table), VoteParams(**params)))


def select(segments, **params):
    return fit(segments, **params).selection


def test_folds_keep_groups_together_and_spread_both_folders():
    groups = np.repeat(np.arange(12), 2)
    table = tabulate(make_scene(n_images=24, n_segments=8), groups)
    folds = make_folds(table, 3)
    assert np.array_equal(folds[::2], folds[1::2])
    for side in (table.positive, ~table.positive):
        assert np.bincount(folds[side]).tolist() == [4, 4, 4]


def test_held_out_scores_do_not_depend_on_their_own_labels():
    held, folds = hold(make_scene(noise=0.4), exclude_mislabelled=False), np.arange(24) // 3
    table, chosen = held.table, folds == 1
    other = replace(table, positive=table.positive ^ chosen)
    flipped = replace(held, inputs=replace(held.inputs, table=other))
    out = chosen[table.images]
    assert np.array_equal(held.score_held_out(folds)[out], flipped.score_held_out(folds)[out])
    assert not np.array_equal(held.score_held_out(folds)[~out], flipped.score_held_out(folds)[~out])


def test_clean_images_come_out_empty_and_the_object_stays():
    n_kept = 0
    for seed in range(3):
        segments = make_segments(12, 8, 30, seed)
        selection = select(segments, allow_empty=True)
        assert not selection.empty[:12].any() and not selection.empty[20:].any()
        assert selection.selected[segments[3]].all()
        assert not selection.selected[selection.empty[segments[2]]].any()
        n_kept += np.count_nonzero(~selection.empty[12:20])
    # One in twenty may be kept, of twenty-four.
    assert n_kept <= 2


def test_unless_allowed_every_image_keeps_its_best_segment():
    segments = make_segments(12, 8, 30)
    selection = select(segments)
    assert not selection.empty.any()
    assert (np.bincount(segments[2], selection.selected)[:20] >= 1).all()


def test_folders_of_clean_images_keep_about_one_in_twenty():
    kept = [np.count_nonzero(~select(make_segments(0, 20, 30, seed), allow_empty=True).empty[:20]) for seed in range(6)]
    assert sum(kept) <= 0.1 * 20 * len(kept)


def test_a_user_label_holds_in_an_empty_image():
    segments = make_segments(12, 8, 30)
    user_labels = np.full(len(segments[0]), -1, dtype=np.int8)
    place = int(np.flatnonzero(segments[2] == 15)[3])
    user_labels[place] = 1
    base = fit(segments, allow_empty=True)
    assert base.selection.empty[15]
    assert correct_vote(base, user_labels)[1].selection.selected[place]
    # With the label in the vote, the image shows the object.
    assert not refit_with_labels(base, user_labels).selection.empty[15]


def test_the_p_value_is_the_share_that_scores_as_high():
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
