import cv2
import numpy as np
import pytest
import skimage.data

from segvote.errors import BadInputError
from segvote.features.bow import compute_dense_sift


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


def test_descriptors_have_length_one_and_no_glare(gray):
    descriptors = compute_dense_sift(gray).descriptors
    lengths = np.linalg.norm(descriptors, axis=-1)
    np.testing.assert_allclose(lengths[lengths > 0], 1, rtol=1e-5)
    assert descriptors.min() >= 0


def test_flat_places_have_no_descriptor():
    gray = np.full((60, 60), 90, np.uint8)
    gray[:, 40:] = 200
    dense = compute_dense_sift(gray, 4, (4,))
    assert not dense.descriptors[0][:, dense.columns < 25].any()
    assert dense.descriptors[0][:, np.abs(dense.columns - 40) < 4].any(axis=-1).all()


def test_brightness_and_contrast_change_nothing(gray):
    plain = compute_dense_sift(gray).descriptors
    changed = compute_dense_sift(gray * np.float32(0.5) + 20).descriptors
    found = plain.any(axis=-1) & changed.any(axis=-1)
    np.testing.assert_allclose(plain[found], changed[found], atol=1e-3)


@pytest.mark.parametrize("shape", [(1, 1), (3, 50), (41, 2)])
def test_tiny_images_have_a_grid_too(shape):
    dense = compute_dense_sift(np.zeros(shape, np.uint8))
    assert dense.descriptors.shape == (4, len(dense.rows), len(dense.columns), 128)
    assert len(dense.rows) >= 1


@pytest.mark.parametrize("options", [{"step": 0}, {"bin_sizes": (5,)}, {"bin_sizes": ()}])
def test_grids_that_do_not_exist_are_refused(options):
    with pytest.raises(BadInputError, match="even bin sizes"):
        compute_dense_sift(np.zeros((9, 9), np.uint8), **options)


def test_noise_of_one_grey_level_is_no_contrast():
    noise = np.random.default_rng(0).normal(100, 1, (80, 80)).astype(np.float32)
    assert not compute_dense_sift(noise).descriptors.any()
