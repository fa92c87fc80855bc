import json
import pickle

import cv2
import numpy as np
import pytest
import skimage.data

from segvote.errors import BadInputError, DamagedFileError
from segvote.features import make_features
from segvote.features.bow import BowFeatures, compute_dense_sift, learn_words, sample_rows

LABELS = np.arange(12).reshape(3, 4).repeat(30, axis=0).repeat(35, axis=1)


@pytest.fixture(scope="module")
def images():
    return [skimage.data.chelsea()[::2, ::2], skimage.data.coffee()[::3, ::3]]


@pytest.fixture(scope="module")
def fitted(images):
    return BowFeatures(n_words=40, size=160).fit(images, np.random.default_rng(0))


def test_histograms_equal_a_count_point_by_point(fitted):
    image = skimage.data.chelsea()[:90, :140]
    gray = (image @ np.array([0.299, 0.587, 0.114])).round().astype(np.uint8)
    dense = compute_dense_sift(gray)
    expected = np.zeros((12, 40))
    for scale, i, j in np.ndindex(dense.descriptors.shape[:3]):
        vector = dense.descriptors[scale, i, j]
        if vector.any():
            word = ((fitted.words_ - vector) ** 2).sum(axis=1).argmin()
            expected[LABELS[dense.rows[i], dense.columns[j]], word] += 1
    expected /= np.linalg.norm(expected, axis=1, keepdims=True)
    found = fitted.extract(image, LABELS)
    np.testing.assert_allclose(np.linalg.norm(found, axis=1), 1, rtol=1e-6)
    assert np.abs(found - expected).sum() < 0.01 * expected.sum()  # grey levels may be rounded the other way


def test_a_segment_without_contrast_keeps_a_zero_vector(fitted):
    image = np.full((90, 140, 3), 128, np.uint8)
    image[60:, 105:] = np.random.default_rng(0).integers(0, 256, (30, 35, 3))
    features = fitted.extract(image, LABELS)
    assert not features[0].any()
    assert features[11].any()


def test_the_size_of_the_label_map_does_not_move_words(fitted):
    image = skimage.data.chelsea()
    small = np.arange(4).reshape(2, 2).repeat(80, axis=0).repeat(120, axis=1)
    large = small.repeat(2, axis=0).repeat(2, axis=1)
    np.testing.assert_array_equal(fitted.extract(image, small), fitted.extract(image, large))


def test_the_state_carries_the_words(fitted):
    again = make_features("bow", n_words=40, size=160)
    again.set_state(fitted.get_state())
    image = skimage.data.coffee()
    expected = fitted.extract(image, LABELS)
    np.testing.assert_array_equal(again.extract(image, LABELS), expected)
    copy = pickle.loads(pickle.dumps(again))  # noqa: S301 - what a process pool does
    np.testing.assert_array_equal(copy.extract(image, LABELS), expected)
    assert json.dumps(again.get_key()) == json.dumps(fitted.get_key())


def test_missing_words_are_reported(fitted):
    with pytest.raises(DamagedFileError, match="1000 x 128"):
        make_features("bow").set_state(fitted.get_state())
    with pytest.raises(BadInputError, match="no words yet"):
        make_features("bow").extract(skimage.data.chelsea(), LABELS)
    with pytest.raises(BadInputError, match="set n_words"):
        learn_words(np.zeros((5, 128), np.float32), 10)
    with pytest.raises(BadInputError, match="at least one image"):
        make_features("bow").fit([], np.random.default_rng(0))


def test_every_row_of_a_stream_has_the_same_chance():
    shards = [np.arange(start, start + 50)[:, None] for start in range(0, 1000, 50)]
    rng, hits = np.random.default_rng(0), np.zeros(1000)
    for _ in range(400):
        sample = sample_rows(shards, 100, rng)
        assert len(np.unique(sample)) == 100
        hits[sample[:, 0]] += 1
    groups = hits.reshape(20, 50).mean(axis=1)
    assert np.abs(groups - 40).max() < 5  # 40 of 400 draws, five deviations of the mean of 50


@pytest.fixture(scope="module")
def gray():
    return cv2.cvtColor(skimage.data.chelsea(), cv2.COLOR_RGB2GRAY)[60:180, 100:260]


def describe_slowly(gray, row, column, bin_size):
    """Add up the gradients of one window pixel by pixel."""
    smooth = cv2.GaussianBlur(gray.astype(np.float32), (0, 0), 1.52).astype(np.float64)
    padded = np.pad(smooth, 1, mode="reflect")
    right, up = padded[1:-1, 2:] - padded[1:-1, :-2], padded[:-2, 1:-1] - padded[2:, 1:-1]
    length, place = np.hypot(right, up), np.arctan2(up, right) % (2 * np.pi) * 8 / (2 * np.pi)
    histogram = np.zeros((4, 4, 8))
    for i, j, o in np.ndindex(histogram.shape):
        y, x = row + (i - 1.5) * bin_size, column + (j - 1.5) * bin_size
        tall = np.maximum(0, 1 - np.abs(np.arange(len(gray)) - y) / bin_size)
        wide = np.maximum(0, 1 - np.abs(np.arange(gray.shape[1]) - x) / bin_size)
        turned = np.maximum(0, 1 - np.minimum((place - o) % 8, (o - place) % 8))
        gauss = np.exp(-((i - 1.5) ** 2 + (j - 1.5) ** 2) / 8)
        histogram[i, j, o] = (length * turned * tall[:, None] * wide).sum() * gauss
    vector = np.minimum(histogram.ravel() / np.linalg.norm(histogram), 0.2)
    return vector / np.linalg.norm(vector)


@pytest.mark.parametrize("bin_size", [4, 6])
def test_descriptors_equal_sums_over_pixels(gray, bin_size):
    dense = compute_dense_sift(gray, 8, (bin_size,))
    for i, j in [(0, 0), (7, 9), (3, 19), (14, 0)]:
        expected = describe_slowly(gray, dense.rows[i], dense.columns[j], bin_size)
        np.testing.assert_allclose(dense.descriptors[0, i, j], expected, atol=1e-4)


def test_descriptors_are_close_to_opencv_s(gray):
    bin_sizes = (4, 6, 8, 10)
    dense = compute_dense_sift(gray, 8, bin_sizes)
    points = [  # OpenCV's bin is 1.5 times the size of the point
        cv2.KeyPoint(float(x), float(y), size / 1.5, 0) for size in bin_sizes for y in dense.rows for x in dense.columns
    ]
    theirs = cv2.SIFT_create().compute(gray, points)[1]
    cosines = (theirs * dense.descriptors.reshape(-1, 128)).sum(axis=1) / np.linalg.norm(theirs, axis=1)
    assert cosines.mean() > 0.97
