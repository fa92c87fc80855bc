"""What is known of key frames follows the flow to the frames between them."""

import numpy as np
import pytest

from segvote.segmentation.carrying import (
    Track,
    blend,
    is_nearer,
    make_grid,
    measure_flicker,
    smooth_heat,
    track_between,
)
from segvote.segmentation.flow import measure_flow

SPEED = 3


@pytest.fixture(scope="module")
def ground():
    rng = np.random.default_rng(0)
    return rng.integers(0, 256, (30, 60, 3), dtype=np.uint8).repeat(4, axis=0).repeat(4, axis=1)


@pytest.fixture(scope="module")
def frames(ground):
    """A camera that pans over a textured ground."""
    return [np.ascontiguousarray(ground[:100, SPEED * number : SPEED * number + 130]) for number in range(5)]


def test_flow_finds_a_shift(frames):
    flow = measure_flow(frames[1], frames[0])
    assert np.abs(np.median(flow[20:80, 20:100], axis=(0, 1)) - [SPEED, 0]).max() < 0.3


def test_a_key_frame_carries_its_values_to_itself(frames):
    values = np.random.default_rng(0).integers(0, 9, frames[0].shape[:2]).astype(np.int32)
    np.testing.assert_array_equal(Track.start(frames[0]).carry(values), values)


def test_values_move_with_the_picture_however_many_frames_lie_between(frames):
    columns = np.tile(np.arange(130, dtype=np.float32), (100, 1))
    for number, (earlier, later) in enumerate(track_between(frames), start=1):
        inside = (slice(20, 80), slice(20, 100))
        np.testing.assert_allclose(earlier.carry(columns)[inside], columns[inside] + SPEED * number, atol=1.5)
        np.testing.assert_allclose(later.carry(columns)[inside], columns[inside] - SPEED * (4 - number), atol=1.5)
        assert min(earlier.trust[inside].mean(), later.trust[inside].mean()) > 0.5


def test_the_flow_over_a_cut_is_not_trusted(frames, ground):
    other = np.ascontiguousarray(255 - ground[:100, ::-1][:, :130])
    earlier, later = next(track_between([frames[0], frames[1], other, other]))
    assert later.trust.mean() < 0.3 < earlier.trust.mean()
    assert is_nearer(earlier, later, 0.9)


def test_a_blend_is_the_mean_weighted_by_trust_and_time():
    rng = np.random.default_rng(0)
    image = np.zeros((4, 5, 3), np.uint8)
    one, two = (Track(image, make_grid(4, 5), rng.uniform(0.1, 1, (4, 5)).astype(np.float32)) for _ in range(2))
    before, after = rng.random((2, 4, 5)).astype(np.float32)
    weights = 0.75 * one.trust, 0.25 * two.trust
    plain = (weights[0] * before + weights[1] * after) / (weights[0] + weights[1])
    np.testing.assert_allclose(blend(one, two, before, after, 0.25), plain, rtol=1e-5)


def test_heat_is_drawn_to_the_mask_before_as_far_as_trusted():
    track = Track(np.zeros((1, 2, 3), np.uint8), make_grid(1, 2), np.array([[1.0, 0.5]], np.float32))
    found = smooth_heat(np.array([[0.4, 0.4]], np.float32), np.array([[True, True]]), track, 0.5)
    np.testing.assert_allclose(found, [[0.7, 0.55]], rtol=1e-5)


def test_flicker_is_what_the_flow_does_not_explain():
    mask, before = np.zeros((2, 6, 8), bool)
    before[2:4, 1:3] = mask[2:4, 3:5] = True
    flow = np.zeros((6, 8, 2), np.float32)
    assert measure_flicker(mask, before, flow) == 1.0
    flow[..., 0] = -2
    assert measure_flicker(mask, before, flow) == 0.0
    mask[4, 3:5] = True
    assert measure_flicker(mask, before, flow) == pytest.approx(2 / 6)
    assert measure_flicker(~mask & mask, ~mask & mask, flow) == 0.0
