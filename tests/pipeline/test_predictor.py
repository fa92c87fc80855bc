"""Scores calibrated on held-out images; one image in memory is judged as a folder of them is."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from safetensors.numpy import load_file
from scipy import sparse

from segvote import predict
from segvote.errors import BadInputError
from segvote.io.images import read_image
from segvote.method.cross_fit import measure_p_value
from segvote.method.table import make_table
from segvote.pipeline.model import measure_nearest, read_model
from segvote.pipeline.opening import reopen
from segvote.pipeline.predictor import Predictor, fit_calibration, score_by_refits
from segvote.run.model_file import STEPS, pack, unpack
from segvote.settings import Settings

TAGS = np.arange(20) < 10


@pytest.fixture
def calibration():
    rng = np.random.default_rng(0)
    return fit_calibration(np.where(TAGS, 1.0, 0.0) + rng.normal(0, 0.4, size=20), TAGS)


@given(st.floats(0.001, 0.999), st.integers(0, 1000))
def test_scores_above_the_threshold_have_small_p_values(rate, seed):
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=40).round(1)
    found = fit_calibration(scores, np.arange(40) < 10)
    kept = max(rate, 1 / (len(found.negatives) + 1))
    asked = np.linspace(-4, 4, 81).round(1)
    np.testing.assert_array_equal(
        asked > found.find_threshold(kept), measure_p_value(asked, found.negatives) <= kept + 1e-9
    )


def test_false_positives_of_fresh_negatives_keep_the_rate():
    rng = np.random.default_rng(0)
    rates = []
    for _ in range(200):
        scores = np.concatenate([rng.normal(2, 1, size=5), rng.normal(size=49)])
        threshold = fit_calibration(scores, np.arange(54) < 5).find_threshold(0.1)
        rates.append((rng.normal(size=100) > threshold).mean())
    assert np.mean(rates) == pytest.approx(0.1, abs=0.01)


def test_probability_rises_with_the_score(calibration):
    values = calibration.measure_probability(np.linspace(-1, 2, 31))
    assert (np.diff(values) > 0).all()
    assert calibration.measure_probability(np.array([0.5]))[0] == pytest.approx(0.5, abs=0.15)
    opposite = fit_calibration(np.where(TAGS, 0.0, 1.0), TAGS)
    np.testing.assert_allclose(opposite.measure_probability(np.array([-5.0, 5.0])), 0.5, atol=0.01)


def test_refits_never_see_the_bag_they_score():
    bags, bag_labels, free = np.repeat(np.arange(8), 5), np.arange(8) < 4, np.full(40, -1, np.int8)
    X = np.random.default_rng(0).normal(size=(40, 3))
    votes = score_by_refits(Settings(voter="negmin"), make_table(X, bag_labels, bags), np.ones(40), free)
    X[bags == 7, 0] += 100
    other = score_by_refits(Settings(voter="negmin"), make_table(X, bag_labels, bags), np.ones(40), free)
    np.testing.assert_array_equal(votes[bags == 3], other[bags == 3])  # of the same fold
    few = make_table(X[:10], np.array([True, False]), bags[:10])
    with pytest.raises(BadInputError, match="two training images"):
        score_by_refits(Settings(), few, np.ones(10), free[:10])


def test_an_image_in_memory_is_judged_like_one_on_disk(finished_run, scenes, tmp_path):
    """The images of the run itself: among their own copies they are found, and that is enough here."""
    found = predict(finished_run.folder.path, scenes, tmp_path / "new", false_positive_rate=0.3, n_jobs=1)
    predictor = Predictor(read_model(finished_run.folder.path), 0.3)
    assert (predictor.rate, predictor.threshold) == (found.rate, found.threshold)
    assert any(one.contains for one in found.images)
    for index, one in enumerate(found.images):
        said, mask = predictor.judge(read_image(scenes / one.name))
        assert said.contains == one.contains
        assert (said.score, said.probability, said.p_value) == pytest.approx((one.score, one.probability, one.p_value))
        np.testing.assert_array_equal(mask, found.read_mask(index))


def test_the_nearest_distance_is_that_of_the_formula():
    rng = np.random.default_rng(0)
    X, voters = rng.normal(size=(7, 3)), rng.normal(size=(20, 3))
    distances = np.linalg.norm(X[:, None] - voters[None], axis=2)
    weights = np.where(distances <= np.sort(distances, axis=1)[:, [4]], np.exp(-(distances**2)), 0.0)
    weights[3] = 0.0  # no segment votes for this one
    expected = np.where(np.arange(7) == 3, 0.0, distances.min(axis=1))
    np.testing.assert_allclose(measure_nearest(X, voters, sparse.csr_matrix(weights)), expected)


def test_an_image_farther_than_the_rate_allows_is_unlike(finished_run, scenes):
    predictor = Predictor(read_model(finished_run.folder.path), 0.1)
    predictor.threshold, familiar = -1.0, predictor.familiar  # any score is high enough
    predictor.familiar = np.arange(1.0, 40.0)  # 39 images: one of forty may be as far
    assert [predictor.is_unlike(distance) for distance in (0.0, 38.0, 38.5, 50.0)] == [False, False, True, True]
    for too_few in (np.arange(18.0), np.empty(0)):
        predictor.familiar = too_few
        assert not predictor.is_unlike(1e9)
    predictor.familiar = np.repeat(familiar, 3)
    known, mask = predictor.judge(read_image(sorted((scenes / "with").iterdir())[0]))
    noise = np.random.default_rng(0).integers(0, 2, (120, 160, 3), dtype=np.uint8) * 255
    noise[..., 1] = 0
    strange, no_mask = predictor.judge(noise)
    assert known.contains and not known.unlike and mask.any()
    assert strange.unlike and not strange.contains and not no_mask.any()


def test_the_model_of_a_run_opens_on_a_device(finished_run):
    assert "device" not in read_model(finished_run.folder.path, "cpu").settings.feature_options
    read_model(finished_run.folder.path, "auto")  # features without a network have none
    with pytest.raises(BadInputError, match="device"):
        read_model(finished_run.folder.path, "cuda")


# A byte per number of the model ---------------------------------------------------------------------------------------


def test_numbers_come_back_to_within_half_a_step():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 30)).astype(np.float32) * rng.uniform(1e-6, 1e3, (50, 1)).astype(np.float32)
    codes, scales = pack(X)
    assert (codes.dtype, codes.shape, scales.shape) == (np.int8, X.shape, (50,))
    assert np.all(np.abs(unpack(codes, scales) - X) <= 0.501 * scales[:, None])
    assert np.abs(codes).max() == STEPS
    np.testing.assert_array_equal(pack(unpack(codes, scales))[0], codes)
    np.testing.assert_array_equal(unpack(*pack(np.zeros((2, 3), np.float32))), np.zeros((2, 3)))


def test_votes_change_by_less_than_the_stated_bound(finished_run):
    """Every training segment, scored as one of another image, by the exact features and by those of the model."""
    table = reopen(finished_run).table
    packed = Predictor(read_model(finished_run.folder.path)).source
    exact = replace(packed, X=table.X)
    votes = [scorer.score(table.X, scorer.build_graph(table.X, table.bags)) for scorer in (packed, exact)]
    change = np.abs(votes[0] - votes[1])
    assert change.max() < 0.05
    assert change.mean() < 0.002


def test_the_file_holds_a_byte_for_each_number(finished_run):
    path = finished_run.folder.model_path / "model.safetensors"
    arrays = load_file(path)
    assert arrays["codes"].dtype == np.int8
    assert "X" not in arrays
    assert path.stat().st_size < 1.5 * arrays["codes"].size + 100 * len(arrays["codes"])
