import numpy as np
import pytest
from segvote.method.likeness import Likeness
from segvote.method.residual import NOISE, pass_on

N_BAGS, N_EACH = 4, 12


@pytest.fixture
def scene():
    """Four bags, three *with*; every bag has pairs of segments with the same features."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(N_BAGS * N_EACH, 6)).astype(np.float32)
    X[1::2] = X[::2] + np.float32(0.01)
    bags = np.repeat(np.arange(N_BAGS), N_EACH)
    scores = rng.uniform(-1, 3, len(X))
    thresholds = np.array([0.5, 0.2, 0.8, 0.0])
    positive = np.array([True, True, True, False])
    return Likeness(X, bags), scores, thresholds, bags, positive


def say(**words):
    fixed = np.full(N_BAGS * N_EACH, -1, dtype=np.int8)
    for name, value in words.items():
        fixed[int(name[1:])] = value
    return fixed


def test_a_corrected_segment_is_as_certain_as_can_be(scene):
    scores = scene[1]
    taught = pass_on(*scene, say(s0=1, s15=0)).scores
    assert taught[0] == pytest.approx(scores[:N_EACH].max()) and taught[15] == pytest.approx(scores.min())


def test_what_is_alike_goes_the_same_way(scene):
    scores = scene[1]
    scores[[0, 1]] = 0.0
    taught = pass_on(*scene, say(s0=1)).scores
    assert taught[1] > 0.5 > scores[1]


def test_what_is_not_alike_is_left_to_the_bit(scene):
    likeness, scores, *_ = scene
    taught = pass_on(*scene, say(s0=1)).scores
    far = likeness.join(np.array([0])).toarray()[:, 0] == 0
    assert far.sum() > N_EACH
    np.testing.assert_array_equal(taught[far], scores[far])


def test_a_without_image_is_moved_by_its_own_user_labels_only(scene):
    scores = scene[1]
    taught = pass_on(*scene, say(s36=1)).scores
    assert taught[36] == pytest.approx(scores.max())
    np.testing.assert_array_equal(taught[37:], scores[37:])


def test_amounts_sum_to_the_change(scene):
    fixed = say(s0=1, s2=0, s13=1, s14=0, s25=0)
    taught = pass_on(*scene, fixed)
    np.testing.assert_array_equal(taught.voters, np.flatnonzero(fixed >= 0))
    np.testing.assert_allclose(taught.amounts.sum(axis=1), taught.scores - scene[1], atol=1e-12)


def test_a_corrected_segment_owes_its_change_to_itself(scene):
    taught = pass_on(*scene, say(s0=1, s1=1))
    assert taught.amounts[[0]].toarray()[0, 1] == 0 and taught.amounts[[1]].toarray()[0, 0] == 0


def test_corrections_of_the_same_do_not_pile_up():
    """A hundred equal words move what is like them to what was said, not a hundred times as far."""
    X = np.zeros((202, 3), dtype=np.float32)
    X[101:] = np.random.default_rng(0).normal(size=(101, 3)).astype(np.float32)
    bags, positive = np.repeat([0, 1], 101), np.array([True, True])
    scores, thresholds = np.linspace(-1, 1, 202), np.zeros(2)
    scores[:101] = -0.5
    scores[0] = 1.0
    fixed = np.full(202, -1, dtype=np.int8)
    fixed[1:100] = 1
    taught = pass_on(Likeness(X, bags), scores, thresholds, bags, positive, fixed)
    strength = taught.amounts[[100]].toarray().sum() / (1 + 0.5)
    assert 0.9 < strength <= 1.0


def test_one_word_counts_less_the_more_noise_there_is(scene):
    scores = scene[1]
    scores[[0, 1]] = -1.0
    scores[2] = 3.0
    taught = pass_on(*scene, say(s0=1))
    certainty = (taught.scores[1] - 0.5) / (3.0 - 0.5)
    assert certainty == pytest.approx(-1 + 2 / (1 + NOISE), abs=0.02)


def test_the_same_user_labels_give_the_same_scores_whatever_came_before(scene):
    fixed = say(s0=1, s14=0)
    first = pass_on(*scene, fixed).scores
    pass_on(*scene, say(s0=1, s14=0, s3=1))
    np.testing.assert_array_equal(pass_on(*scene, fixed).scores, first)


def test_a_bag_that_is_all_on_one_side_of_its_threshold_is_no_error(scene):
    likeness, scores, thresholds, bags, positive = scene
    thresholds = np.array([scores[:N_EACH].max(), scores.min(), 0.8, 0.0])
    taught = pass_on(likeness, scores, thresholds, bags, positive, say(s0=1, s12=0))
    assert np.isfinite(taught.scores).all()


def measure_push(scene, share, fixed=None):
    """How far the twin of a painted segment is moved."""
    scores, shares = scene[1], np.zeros(N_BAGS * N_EACH)
    shares[0] = share
    return pass_on(*scene, say() if fixed is None else fixed, shares).scores[1] - scores[1]


def test_a_painted_share_moves_what_is_alike_in_proportion(scene):
    scores = scene[1]
    scores[[0, 1]], scores[2] = -1.0, 3.0
    pushes = {share: measure_push(scene, share) for share in (0.1, 0.3, 0.6, 1.0)}
    assert sorted(pushes.values()) == list(pushes.values()) and pushes[0.1] > 0
    assert pushes[1.0] == pytest.approx(measure_push(scene, 0.0, say(s0=1)))
    # Noise NOISE / p: from surely background to 2 / (1 + NOISE / p) above it.
    certainty = -1 + 2 / (1 + NOISE / 0.6)
    after = scores[1] + pushes[0.6]
    assert (after - 0.5) / ((3.0 if certainty > 0 else 0.5 + 1.0) - 0.5) == pytest.approx(certainty, abs=0.02)


def test_a_painted_share_does_not_hold_for_its_segment_and_its_amounts_sum_to_the_change(scene):
    scores, shares = scene[1], np.zeros(N_BAGS * N_EACH)
    scores[[0, 1]], shares[[0, 13]] = -1.0, (0.3, -0.5)
    taught = pass_on(*scene, say(s2=0), shares)
    assert taught.voters.tolist() == [0, 2, 13] and -1.0 < taught.scores[0] < scores[:N_EACH].max()
    np.testing.assert_allclose(taught.amounts.sum(axis=1), taught.scores - scores, atol=1e-12)
