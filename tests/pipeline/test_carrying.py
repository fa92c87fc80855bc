"""What is known of key frames follows the flow to the frames between them."""

import numpy as np
import pytest

from segvote.pipeline.video.carrying import Track, blend, follow, follow_between, is_nearer, measure_flicker

SPEED = 3
INSIDE = (slice(20, 80), slice(20, 100))


@pytest.fixture(scope="module")
def ground():
    rng = np.random.default_rng(0)
    return rng.integers(0, 256, (30, 60, 3), dtype=np.uint8).repeat(4, axis=0).repeat(4, axis=1)


@pytest.fixture(scope="module")
def frames(ground):
    """A camera that pans over a textured ground."""
    return [np.ascontiguousarray(ground[:100, SPEED * number : SPEED * number + 130]) for number in range(5)]


def make_still(trust):
    """The track of a frame in which nothing moves."""
    height, width = np.shape(trust)
    places = np.stack(np.meshgrid(np.arange(width), np.arange(height)), axis=-1)
    return Track(places.astype(np.float32), np.array(trust, np.float32))


def test_a_frame_carries_its_values_to_itself(frames):
    values = np.random.default_rng(0).integers(0, 9, frames[0].shape[:2]).astype(np.int32)
    np.testing.assert_array_equal(follow(frames[0], frames[0]).carry(values), values)


def test_trust_falls_with_the_largest_difference_of_a_channel():
    image, other = np.zeros((2, 2, 3, 3), np.uint8)
    image[0, 0], image[1, 2] = [20, 10, 0], [0, 0, 60]
    gaps = np.array([[20, 0, 0], [0, 0, 60]])
    np.testing.assert_allclose(follow(image, other).trust, np.exp(-((gaps / 20) ** 2) / 2) + 0.001, rtol=1e-6)


def test_values_move_with_the_picture_over_many_frames(frames):
    columns = np.tile(np.arange(130, dtype=np.float32), (100, 1))
    steps, earlier, later = follow_between(frames)
    assert [len(tracks) for tracks in (steps, earlier, later)] == [4, 3, 3]
    for number in range(1, 4):
        before, after = earlier[number - 1], later[number - 1]
        np.testing.assert_allclose(steps[number].carry(columns)[INSIDE], columns[INSIDE] + SPEED, atol=1.5)
        np.testing.assert_allclose(before.carry(columns)[INSIDE], columns[INSIDE] + SPEED * number, atol=1.5)
        np.testing.assert_allclose(after.carry(columns)[INSIDE], columns[INSIDE] - SPEED * (4 - number), atol=1.5)
        assert min(before.trust[INSIDE].mean(), after.trust[INSIDE].mean()) > 0.5


def test_the_flow_over_a_cut_is_not_trusted(frames, ground):
    other = np.ascontiguousarray(255 - ground[:100, ::-1][:, :130])
    _, (earlier, _), (later, _) = follow_between([frames[0], frames[1], other, other])
    assert later.trust.mean() < 0.3 < earlier.trust.mean()
    assert is_nearer(earlier, later, 0.9)


def test_a_blend_is_the_mean_weighted_by_trust_and_time():
    rng = np.random.default_rng(0)
    one, two = (make_still(rng.uniform(0.1, 1, (4, 5))) for _ in range(2))
    before, after = rng.random((2, 4, 5)).astype(np.float32)
    weights = 0.75 * one.trust, 0.25 * two.trust
    plain = (weights[0] * before + weights[1] * after) / (weights[0] + weights[1])
    np.testing.assert_allclose(blend(one, two, before, after, 0.25), plain, rtol=1e-5)


def test_flicker_is_the_share_that_changed():
    mask, before = np.zeros((2, 6, 8), bool)
    before[2:4, 1:3] = mask[2:4, 3:5] = True
    assert measure_flicker(mask, before) == 1.0
    assert measure_flicker(mask, mask) == 0.0
    assert measure_flicker(mask, mask | before) == 0.5
    assert measure_flicker(~mask & mask, ~mask & mask) == 0.0
