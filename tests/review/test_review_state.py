import struct

import numpy as np
import pytest
from scipy import sparse

from segvote.review.encoding import encode_update
from segvote.review.ranking import measure_closeness, rank_images
from segvote.review.state import hear, make_snapshot, measure_dissent, note, say


@pytest.fixture
def snapshot():
    """Two *with* bags and one *without*, four segments each."""
    scores = np.array([0.9, 0.8, 0.1, 0.0, 0.6, 0.5, 0.45, 0.4, -0.1, -0.2, -0.3, 0.2])
    thresholds = np.array([0.4, 0.47, 0.0])
    decisions = np.array([1, 1, 0, 0, 1, 1, 0, 0, 0, 0, 0, 0], dtype=bool)
    return make_snapshot(
        np.array([0, 4, 8, 12]), np.full(12, 10), np.array([True, True, False]), scores, decisions, thresholds
    )


def say_fixed(snapshot, **changes):
    values = {name: getattr(snapshot, name) for name in ("fixed", "tags", "moved", "looked")}
    return say(snapshot, 1, **{**values, **changes})


def test_a_word_stands_before_anybody_votes(snapshot):
    fixed = snapshot.fixed.copy()
    fixed[[1, 2]] = 0, 1
    said = say_fixed(snapshot, fixed=fixed)
    assert said.decisions[:4].tolist() == [True, False, True, False]
    assert snapshot.decisions[:4].tolist() == [True, True, False, False]


def test_a_bag_moved_to_without_has_no_mask(snapshot):
    said = say_fixed(snapshot, tags=np.array([False, True, False]), moved=np.array([True, False, False]))
    assert not said.decisions[:4].any()


def test_only_bags_that_changed_are_sent(snapshot):
    fixed = snapshot.fixed.copy()
    fixed[5] = 0
    said = say_fixed(snapshot, fixed=fixed)
    assert list(read_update(encode_update(said, snapshot.version))) == [1]
    assert list(read_update(encode_update(said))) == [0, 1, 2]
    assert list(read_update(encode_update(said, said.version))) == []


def test_change_is_the_share_of_the_image_that_turned(snapshot):
    decisions = snapshot.decisions.copy()
    decisions[[1, 2]] = False, True
    heard = hear(snapshot, snapshot.scores, decisions, snapshot.thresholds, snapshot.decisions)
    assert heard.change.tolist() == [0.5, 0.0, 0.0]


def test_the_update_says_what_the_snapshot_says(snapshot):
    bags = read_update(encode_update(snapshot))
    np.testing.assert_allclose(bags[1]["scores"], snapshot.scores[4:8], rtol=1e-6)
    assert bags[0]["state"].tolist() == [4, 4, 0, 0]
    assert bags[0]["flags"] == 2 and bags[2]["flags"] == 0


def test_heat_is_above_one_half_exactly_where_the_score_is_above_the_threshold(snapshot):
    for index, bag in read_update(encode_update(snapshot)).items():
        part = snapshot.get_slice(index)
        assert ((bag["heat"] > 128) == (snapshot.scores[part] > snapshot.thresholds[index])).all()


def test_the_queue_asks_for_the_mask_that_hangs_on_its_threshold_first(snapshot):
    priority = rank_images(snapshot)
    assert priority[1] > priority[0] > priority[2]
    assert measure_closeness(snapshot)[1] > measure_closeness(snapshot)[0]


def test_images_looked_at_come_last(snapshot):
    said = say_fixed(snapshot, looked=np.array([True, True, False]))
    assert rank_images(said)[1] < rank_images(snapshot)[0]
    assert rank_images(say_fixed(snapshot, looked=np.array([False, True, False]))).argmax() == 0


def hear_only(voters):
    """Everybody hears these segments, each the same."""
    row = np.zeros(12)
    row[voters] = 1 / len(voters)
    return sparse.csr_matrix(np.tile(row, (12, 1)))


def test_voters_disagree_where_a_mask_hears_segments_that_are_not_object(snapshot):
    assert measure_dissent(snapshot, hear_only([0, 1, 4])).tolist() == [0, 0, 0]
    np.testing.assert_allclose(measure_dissent(snapshot, hear_only([0, 2, 8])), [2 / 3, 2 / 3, 0])


def test_what_a_person_said_is_beyond_dispute(snapshot):
    fixed = snapshot.fixed.copy()
    fixed[:2] = 1
    said = say_fixed(snapshot, fixed=fixed)
    np.testing.assert_allclose(measure_dissent(said, hear_only([2, 8])), [0, 1, 0])


def test_a_mask_whose_voters_disagree_or_that_was_redrawn_comes_sooner(snapshot):
    for name in ("disagreement", "redrawn"):
        noted = note(snapshot, **{name: np.array([0.9, 0.1, 0.9])})
        assert getattr(noted, name).tolist() == [0.9, 0.1, 0.0]  # a *without* image has no mask
        assert rank_images(noted)[0] > rank_images(snapshot)[0]


def test_a_vote_measures_disagreement_anew_where_the_votes_are_kept(snapshot):
    again = (snapshot.scores, snapshot.decisions, snapshot.thresholds, snapshot.decisions)
    noted = note(snapshot, disagreement=np.array([0.5, 0.5, 0.0]))
    assert hear(noted, *again).disagreement.tolist() == [0.5, 0.5, 0.0]
    assert hear(noted, *again, hear_only([0, 4])).disagreement.tolist() == [0, 0, 0]


def test_a_corrected_image_makes_room_for_the_others(snapshot):
    fixed = snapshot.fixed.copy()
    fixed[7] = 0
    assert rank_images(say_fixed(snapshot, fixed=fixed))[1] < rank_images(snapshot)[1]


def test_snapshots_are_not_modified(snapshot):
    before = [np.copy(snapshot.decisions), np.copy(snapshot.scores), np.copy(snapshot.fixed)]
    fixed = np.ones(12, dtype=np.int8)
    say_fixed(snapshot, fixed=fixed)
    hear(snapshot, snapshot.scores + 1, ~snapshot.decisions, snapshot.thresholds, snapshot.decisions)
    for old, name in zip(before, ("decisions", "scores", "fixed"), strict=True):
        np.testing.assert_array_equal(old, getattr(snapshot, name))


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
