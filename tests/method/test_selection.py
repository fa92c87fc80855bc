"""A selection and its slices: every array of an image, and user labels that hold."""

from dataclasses import fields

import numpy as np
from made_tables import hold, label, make_scene

from segvote.selection import apply_labels, join_finished, make_selection, make_unknown_labels


def test_the_slice_of_an_image_has_its_arrays():
    vote = hold(make_scene())
    whole, own = vote.selection, vote.selection.take(3)
    part = vote.table.get_slice(3)
    for name in ("unsmoothed", "scores", "selected", "user_labels"):
        assert np.array_equal(getattr(own, name), getattr(whole, name)[part])
    for name in ("thresholds", "uncertainty", "empty", "extent"):
        assert getattr(own, name).tolist() == [getattr(whole, name)[3]]
    assert own.offsets.tolist() == [0, len(own)] and np.array_equal(own.images, np.zeros(len(own)))


def test_a_slice_of_a_slice_is_itself():
    own = hold(make_scene()).selection.take(3)
    again = own.take(0)
    assert all(np.array_equal(getattr(own, one.name), getattr(again, one.name)) for one in fields(own))


def test_a_selection_of_one_image_has_one_threshold():
    scores = np.array([0.1, 0.9])
    selection = make_selection(scores, scores > 0.5, 0.5)
    assert selection.thresholds.tolist() == [0.5] and selection.user_labels.tolist() == [-1, -1]
    assert not selection.empty[0] and make_selection(scores, scores > 2, 2.0).empty[0]


def test_user_labels_hold_in_a_selection():
    labels = label(4, objects=[0], background=[3])
    assert apply_labels(np.array([False, True, False, True]), labels).tolist() == [True, True, False, False]


def test_segments_of_finished_images_are_labelled_by_their_share():
    joined = join_finished(make_unknown_labels(4), np.array([0.0, 0.5, 0.51, np.nan]))
    assert joined.tolist() == [0, 0, 1, -1] and joined.dtype == np.int8


def test_labels_of_other_images_stay_beside_finished_ones():
    labels = np.array([1, 0, -1, 1], dtype=np.int8)
    assert join_finished(labels, np.array([np.nan, np.nan, np.nan, 0.0])).tolist() == [1, 0, -1, 0]
