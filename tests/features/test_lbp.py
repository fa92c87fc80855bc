import numpy as np
import pytest

from segvote.features import make_features
from segvote.features.histograms import N_PATTERNS, RADII, find_patterns


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


def test_brighter_pictures_have_the_same_patterns():
    gray = np.random.default_rng(0).integers(0, 100, (14, 17)).astype(np.uint8)
    np.testing.assert_array_equal(find_patterns(gray, 2), find_patterns(gray + 50, 2))


def test_every_radius_is_a_block_of_length_one():
    rng = np.random.default_rng(0)
    image, labels = rng.integers(0, 256, (40, 50, 3)).astype(np.uint8), rng.integers(0, 5, (20, 25))
    features = make_features("lbp").extract(image, labels).reshape(5, len(RADII), N_PATTERNS)
    np.testing.assert_allclose(np.linalg.norm(features, axis=2), 1, rtol=1e-5)


def test_tiny_pictures_have_features():
    features = make_features("lbp").extract(np.zeros((1, 2, 3), np.uint8), np.zeros((1, 2), int))
    assert np.isfinite(features).all()


def test_stripes_and_noise_are_told_apart():
    image = np.random.default_rng(0).integers(0, 256, (40, 80, 3)).astype(np.uint8)
    image[:, :40] = np.where(np.arange(40) % 8 < 4, 50, 200)[:, None]
    labels = np.arange(4).repeat(20)[None].repeat(40, axis=0)
    features = make_features("lbp").extract(image, labels)
    products = features @ features.T / 3
    assert products[0, 1] > 0.9
    assert products[2, 3] > 0.9
    assert products[0, 2] < 0.7
