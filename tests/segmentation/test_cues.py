"""Half-disc contrasts against a loop over pixels and half-discs; textons: balanced filters, nearest centres."""

import numpy as np
import pytest

from segvote.segmentation.cues import (
    N_DIRECTIONS,
    N_FILTERS,
    assign_textons,
    compare_histograms,
    compare_means,
    double_map,
    filter_texture,
    halve_map,
)

SAMPLES = 9


def cover_half(radius, direction, sign):
    """Part of each pixel inside one half of the disc, by sampling."""
    reach = int(np.ceil(radius))
    offsets = (np.arange((2 * reach + 1) * SAMPLES) + 0.5) / SAMPLES - (reach + 0.5)
    x, y = np.meshgrid(offsets, offsets)
    angle = direction * np.pi / N_DIRECTIONS
    inside = (x**2 + y**2 <= radius**2) & (sign * (x * np.cos(angle) + y * np.sin(angle)) > 0)
    return inside.reshape(2 * reach + 1, SAMPLES, 2 * reach + 1, SAMPLES).mean(axis=(1, 3))


def average_halves_slow(values, radius):
    """Mean over the two halves around each pixel: two arrays (8, h, w, channels)."""
    reach = int(np.ceil(radius))
    height, width, _ = values.shape
    padded = np.pad(values, ((reach, reach), (reach, reach), (0, 0)), mode="symmetric")
    sums = np.zeros((2, N_DIRECTIONS, *values.shape))
    for side, direction in np.ndindex(2, N_DIRECTIONS):
        weights = cover_half(radius, direction, 1 - 2 * side)
        for row, column in np.ndindex(height, width):
            window = padded[row : row + 2 * reach + 1, column : column + 2 * reach + 1]
            sums[side, direction, row, column] = np.tensordot(weights, window, 2) / weights.sum()
    return sums


@pytest.fixture
def histograms():
    counts = np.random.default_rng(0).random((9, 11, 5)).astype(np.float32)
    return np.concatenate([counts[..., :2] / counts[..., :2].sum(-1, keepdims=True), counts[..., 2:]], axis=-1)


@pytest.mark.parametrize("radius", [2.5, 3.0])
def test_histogram_contrasts_equal_the_slow_chi_square(histograms, radius):
    groups = np.array([[1, 0], [1, 0], [0, 1], [0, 1], [0, 1]], np.float32)
    one, other = average_halves_slow(histograms, radius)
    expected = np.sqrt((0.5 * (one - other) ** 2 / (one + other)) @ groups)
    # A sample on the cut itself belongs to one half here and to a wedge there.
    np.testing.assert_allclose(compare_histograms(histograms, groups, radius), expected, atol=0.02)


def test_mean_contrasts_equal_the_slow_difference(histograms):
    one, other = average_halves_slow(histograms, 3.0)
    np.testing.assert_allclose(compare_means(histograms, 3.0), np.abs(one - other), atol=0.02)


@pytest.mark.parametrize("direction", range(N_DIRECTIONS))
def test_a_straight_edge_is_strongest_in_its_own_direction(direction):
    y, x = np.mgrid[-15:16, -15:16]
    angle = direction * np.pi / N_DIRECTIONS
    image = (x * np.cos(angle) + y * np.sin(angle) > 0).astype(np.float32)[..., None]
    assert compare_means(image, 5.0)[:, 15, 15, 0].argmax() == direction


def test_doubling_a_halved_ramp_does_not_shift_it():
    ramp = np.repeat(np.arange(20, dtype=np.float32)[None], 6, axis=0)[..., None]
    np.testing.assert_allclose(double_map(halve_map(ramp)[..., 0], (6, 20))[:, 2:-2], ramp[:, 2:-2, 0], atol=1e-5)


def test_the_texton_is_the_nearest_centre():
    rng = np.random.default_rng(0)
    lightness = (100 * rng.random((12, 13))).astype(np.float32)
    centres = rng.normal(size=(5, N_FILTERS)).astype(np.float32)
    responses = filter_texture(lightness)
    distances = np.linalg.norm(responses[:, :, None] - centres, axis=-1)
    np.testing.assert_array_equal(assign_textons(lightness, centres), distances.argmin(axis=2))
