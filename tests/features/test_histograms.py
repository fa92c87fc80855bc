import numpy as np
import pytest
from skimage.color import rgb2lab

from segvote.features import make_features
from segvote.features.histograms import (
    CHROMA,
    LIGHTNESS,
    N_WORDS,
    RADII,
    ColorFeatures,
    count_color_words,
    find_patterns,
)


@pytest.fixture
def scene():
    rng = np.random.default_rng(0)
    return rng.integers(0, 256, (12, 15, 3)).astype(np.uint8), rng.integers(0, 4, (12, 15))


def count_slowly(image, labels):
    """Share every pixel among the grid's nodes with a hat function along each axis."""
    counts = np.zeros((labels.max() + 1, N_WORDS))
    for y, x in np.ndindex(labels.shape):
        weights = np.ones(())
        for value, nodes in zip(rgb2lab(image[y, x]), (LIGHTNESS, CHROMA, CHROMA), strict=True):
            hats = [np.interp(value, nodes, np.eye(len(nodes))[i]) for i in range(len(nodes))]
            weights = np.multiply.outer(weights, hats)
        counts[labels[y, x]] += weights.ravel()
    return np.sqrt(counts / counts.sum(axis=1, keepdims=True))


def test_words_equal_hat_functions_pixel_by_pixel(scene):
    np.testing.assert_allclose(count_color_words(*scene), count_slowly(*scene), atol=0.02)


def test_the_image_may_have_another_size_than_the_labels(scene):
    image, labels = scene
    large = image.repeat(3, axis=0).repeat(3, axis=1)
    extractor = ColorFeatures()
    np.testing.assert_allclose(extractor.extract(large, labels), extractor.extract(image, labels), atol=1e-5)
    assert extractor.n_dims == N_WORDS


def find_slowly(gray, radius):
    """Walk around every pixel; the word is the place of its code among the uniform ones."""
    circle = [(0, 1), (1, 1), (1, 0), (1, -1), (0, -1), (-1, -1), (-1, 0), (-1, 1)]
    codes = [[code >> bit & 1 for bit in range(8)] for code in range(256)]
    uniform = [bits for bits in codes if sum(bits[i] != bits[i - 1] for i in range(8)) <= 2]
    padded = np.pad(gray, radius, mode="symmetric").astype(int)
    words = np.zeros(gray.shape, int)
    for y, x in np.ndindex(gray.shape):
        bits = [int(padded[y + radius * (1 + r), x + radius * (1 + c)] > gray[y, x]) for r, c in circle]
        words[y, x] = uniform.index(bits) if bits in uniform else len(uniform)
    return words


@pytest.mark.parametrize("radius", RADII)
def test_patterns_equal_a_walk_around_every_pixel(radius):
    gray = np.random.default_rng(0).integers(0, 12, (14, 17)).astype(np.uint8)
    np.testing.assert_array_equal(find_patterns(gray, radius), find_slowly(gray, radius))


def test_stripes_and_noise_are_told_apart():
    image = np.random.default_rng(0).integers(0, 256, (40, 80, 3)).astype(np.uint8)
    image[:, :40] = np.where(np.arange(40) % 8 < 4, 50, 200)[:, None]
    labels = np.arange(4).repeat(20)[None].repeat(40, axis=0)
    features = make_features("lbp").extract(image, labels)
    products = features @ features.T / 3
    assert products[0, 1] > 0.9
    assert products[2, 3] > 0.9
    assert products[0, 2] < 0.7
