import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from segvote.errors import BadInputError
from segvote.run.settings import Settings
from segvote.steps.prediction.calibration import calibrate, score_by_refits, score_images

TAGS = np.arange(20) < 10


@pytest.fixture
def calibration():
    rng = np.random.default_rng(0)
    return calibrate(np.where(TAGS, 1.0, 0.0) + rng.normal(0, 0.4, size=20), TAGS)


def test_the_p_value_counts_the_negatives_that_score_as_high():
    negatives = np.array([0.1, 0.2, 0.3, 0.4])
    found = calibrate(np.concatenate([negatives, [0.9]]), np.array([False] * 4 + [True]))
    assert found.measure_p_value(np.array([0.0, 0.3, 0.35, 0.5])).tolist() == [1.0, 0.6, 0.4, 0.2]


@given(st.floats(0.001, 0.999), st.integers(0, 1000))
def test_scores_above_the_threshold_have_small_p_values(rate, seed):
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=40).round(1)
    found = calibrate(scores, np.arange(40) < 10)
    kept = max(rate, found.lowest_rate)
    asked = np.linspace(-4, 4, 81).round(1)
    np.testing.assert_array_equal(asked > found.find_threshold(kept), found.measure_p_value(asked) <= kept + 1e-9)


def test_false_positives_of_fresh_negatives_keep_the_rate():
    rng = np.random.default_rng(0)
    rates = []
    for _ in range(400):
        scores = np.concatenate([rng.normal(2, 1, size=5), rng.normal(size=49)])
        threshold = calibrate(scores, np.arange(54) < 5).find_threshold(0.1)
        rates.append((rng.normal(size=100) > threshold).mean())
    assert np.mean(rates) == pytest.approx(0.1, abs=0.01)


def test_a_rate_too_low_gives_the_lowest_possible(calibration):
    assert calibration.lowest_rate == 1 / 11
    assert calibration.find_threshold(0.001) == calibration.negatives[-1]


def test_probability_rises_with_the_score(calibration):
    values = calibration.measure_probability(np.linspace(-1, 2, 31))
    assert (np.diff(values) > 0).all()
    assert calibration.measure_probability(np.array([0.5]))[0] == pytest.approx(0.5, abs=0.15)


def test_scores_that_say_the_opposite_say_nothing():
    found = calibrate(np.where(TAGS, 0.0, 1.0), TAGS)
    np.testing.assert_allclose(found.measure_probability(np.array([-5.0, 5.0])), 0.5, atol=0.01)


def test_one_kind_of_images_cannot_be_calibrated():
    with pytest.raises(BadInputError, match="one kind only"):
        calibrate(np.zeros(3), np.ones(3, bool))


def test_the_score_of_an_image_is_that_of_its_best_segment():
    scores, bags = np.array([1.0, 3.0, 2.0, -1.0]), np.array([0, 0, 0, 1])
    assert score_images(scores, bags).tolist() == [3.0, -1.0]


def test_refits_never_see_the_bag_they_score():
    rng = np.random.default_rng(0)
    bags, bag_labels = np.repeat(np.arange(8), 5), np.arange(8) < 4
    X, free = rng.normal(size=(40, 3)), np.full(40, -1, np.int8)
    votes = score_by_refits(Settings(voter="negmin"), X, bag_labels, bags, np.ones(40), free)
    moved = X.copy()
    moved[bags == 7, 0] += 100
    other = score_by_refits(Settings(voter="negmin"), moved, bag_labels, bags, np.ones(40), free)
    same_fold = np.isin(bags, [3, 7])
    np.testing.assert_array_equal(votes[same_fold & (bags == 3)], other[same_fold & (bags == 3)])
    with pytest.raises(BadInputError, match="two training images"):
        score_by_refits(Settings(), X[:10], np.array([True, False]), bags[:10], np.ones(10), free[:10])
