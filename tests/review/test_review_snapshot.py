import struct
from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from segvote.review.encoding import encode_update, measure_closeness, rank_images
from segvote.review.snapshot import (
    apply_user,
    apply_votes,
    make_snapshot,
    measure_disagreement,
    note_measured,
    note_redrawn,
)


@pytest.fixture
def snapshot():
    """Two *with* bags and one *without*, four segments each."""
    scores = np.array([0.9, 0.8, 0.1, 0.0, 0.6, 0.5, 0.45, 0.4, -0.1, -0.2, -0.3, 0.2])
    thresholds = np.array([0.4, 0.47, 0.0])
    decisions = np.array([1, 1, 0, 0, 1, 1, 0, 0, 0, 0, 0, 0], dtype=bool)
    positive, votes = np.array([True, True, False]), (scores, decisions, thresholds)
    return make_snapshot(np.array([0, 4, 8, 12]), np.full(12, 10), positive, *votes, uncertainty=np.zeros(3))


def say(snapshot, **changes):
    """A snapshot after the user said something."""
    return apply_user(snapshot, replace(snapshot.user, action=1, **changes))


def test_a_user_label_holds_before_the_vote(snapshot):
    labels = snapshot.user_labels.copy()
    labels[[1, 2]] = 0, 1
    said = say(snapshot, user_labels=labels)
    assert said.selected[:4].tolist() == [True, False, True, False]
    assert snapshot.selected[:4].tolist() == [True, True, False, False]


def test_a_bag_moved_to_without_has_no_mask(snapshot):
    said = say(snapshot, positive=np.array([False, True, False]), moved=np.array([True, False, False]))
    assert not said.selected[:4].any()


def test_only_bags_that_changed_are_sent(snapshot):
    labels = snapshot.user_labels.copy()
    labels[5] = 0
    said = say(snapshot, user_labels=labels)
    assert list(read_update(encode_update(said, snapshot.version))) == [1]
    assert list(read_update(encode_update(said))) == [0, 1, 2]
    assert list(read_update(encode_update(said, said.version))) == []


def test_change_is_the_share_of_the_image_that_turned(snapshot):
    decisions = snapshot.selected.copy()
    decisions[[1, 2]] = False, True
    heard = apply_votes(snapshot, snapshot.scores, decisions, snapshot.thresholds)
    assert heard.change.tolist() == [0.5, 0.0, 0.0]


def test_an_area_is_estimated_from_that_of_the_written_mask(snapshot):
    redrawn = replace(snapshot, covered=np.array([0.6, 0.5, 0.0]))
    redrawn = replace(redrawn, written=replace(snapshot.written, covered=redrawn.covered))
    labels = snapshot.user_labels.copy()
    labels[2] = 1
    assert say(redrawn, user_labels=labels).covered.tolist() == [0.85, 0.5, 0.0]
    drifted = apply_votes(redrawn, snapshot.scores + 0.01, snapshot.selected, snapshot.thresholds + 0.01)
    assert drifted.covered.tolist() == [0.6, 0.5, 0.0] and not drifted.is_measured.any()


def test_nothing_is_changed_once_everything_is_as_it_was_written(snapshot):
    labels = snapshot.user_labels.copy()
    labels[2] = 1
    said = say(snapshot, user_labels=labels)
    assert said.change[0] == 0.25 and not said.is_measured[0] and said.is_measured[1:].all()
    measured = note_measured(said, 0, 0.7, 0.2)
    assert (measured.covered[0], measured.change[0]) == (0.7, 0.2)
    undone = apply_votes(
        say(measured, user_labels=snapshot.user_labels), snapshot.scores, snapshot.selected, snapshot.thresholds
    )
    assert undone.change.tolist() == [0, 0, 0] and undone.is_measured.all()
    np.testing.assert_array_equal(undone.covered, snapshot.covered)


def test_painted_pixels_are_a_correction_without_labels(snapshot):
    said = say(snapshot, painted=np.array([0, 5, 0]))
    assert said.corrected.tolist() == [False, True, False] and not said.is_measured[1]
    assert list(read_update(encode_update(said, snapshot.version))) == [1]


def test_the_update_says_what_the_snapshot_says(snapshot):
    bags = read_update(encode_update(snapshot))
    np.testing.assert_allclose(bags[1]["scores"], snapshot.scores[4:8], rtol=1e-6)
    assert bags[0]["state"].tolist() == [4, 4, 0, 0]
    assert bags[0]["flags"] == 2 + 16 and bags[2]["flags"] == 16  # measured: the masks on the disk


def test_heat_is_above_half_where_scores_exceed_thresholds(snapshot):
    for index, bag in read_update(encode_update(snapshot)).items():
        part = snapshot.get_slice(index)
        assert ((bag["heat"] > 128) == (snapshot.scores[part] > snapshot.thresholds[index])).all()


def test_a_mask_close_to_its_threshold_comes_first(snapshot):
    priority = rank_images(snapshot)
    assert priority[1] > priority[0] > priority[2]
    assert measure_closeness(snapshot)[1] > measure_closeness(snapshot)[0]


def test_accepted_images_come_last(snapshot):
    said = say(snapshot, accepted=np.array([True, True, False]))
    assert rank_images(said)[1] < rank_images(snapshot)[0]
    assert rank_images(say(snapshot, accepted=np.array([False, True, False]))).argmax() == 0


def hear_only(voters):
    """Everybody hears these segments, each the same."""
    row = np.zeros(12)
    row[voters] = 1 / len(voters)
    return sparse.csr_matrix(np.tile(row, (12, 1)))


def test_neighbours_that_are_not_object_disagree(snapshot):
    assert measure_disagreement(snapshot, hear_only([0, 1, 4])).tolist() == [0, 0, 0]
    np.testing.assert_allclose(measure_disagreement(snapshot, hear_only([0, 2, 8])), [2 / 3, 2 / 3, 0])


def test_redrawn_masks_come_sooner(snapshot):
    noted = note_redrawn(snapshot, np.array([0.9, 0.1, 0.9]))
    assert noted.redrawn.tolist() == [0.9, 0.1, 0.0]  # a *without* image has no mask
    assert rank_images(noted)[0] > rank_images(snapshot)[0]


def test_a_vote_with_a_graph_measures_disagreement_anew(snapshot):
    again = (snapshot.scores, snapshot.selected, snapshot.thresholds)
    disputed = apply_votes(snapshot, *again, hear_only([0, 2]))
    assert disputed.disagreement.tolist() == [0.5, 0.5, 0.0]
    assert rank_images(disputed)[0] > rank_images(snapshot)[0] - 1e-9
    assert apply_votes(disputed, *again).disagreement.tolist() == [0.5, 0.5, 0.0]
    assert apply_votes(disputed, *again, hear_only([0, 4])).disagreement.tolist() == [0, 0, 0]


def read_update(data):
    """The page's decoder, written a second time."""
    _, _, _, n_bags = struct.unpack_from("<4I", data)
    at, bags = 16, {}
    for _ in range(n_bags):
        index, n, flags = struct.unpack_from("<3I", data, at)
        figures = struct.unpack_from("<5f", data, at + 12)
        at += 32
        scores = np.frombuffer(data, "<f4", n, at)
        heat, state = np.frombuffer(data, np.uint8, n, at + 4 * n), np.frombuffer(data, np.uint8, n, at + 5 * n)
        at += 6 * n + (-2 * n) % 4
        bags[index] = {"flags": flags, "figures": figures, "scores": scores, "heat": heat, "state": state}
    assert at == len(data)
    return bags
