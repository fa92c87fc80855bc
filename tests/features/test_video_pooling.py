"""Features of supervoxels are those of their frames, weighted by area."""

import numpy as np
import pytest

from segvote.features.base import FeatureExtractor
from segvote.features.motion import N_MOTION_DIMS, MotionPooler
from segvote.features.video_pooling import FramePooler, borrow_from_neighbours


class MeanColour(FeatureExtractor):
    blocks = (3,)

    def extract(self, image, labels):
        areas = np.bincount(labels.ravel())
        return np.stack([np.bincount(labels.ravel(), c.ravel()) / areas for c in np.moveaxis(image, 2, 0)], axis=1)

    def get_key(self):
        return {"name": "mean"}


@pytest.fixture
def clip():
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 6, (4, 10, 12))
    labels[2:] += 3
    return rng.integers(0, 256, (4, 10, 12, 3), dtype=np.uint8), labels


def test_pooling_over_frames_is_pooling_over_the_volume(clip):
    images, labels = clip
    pooler = FramePooler(MeanColour())
    for image, frame in zip(images, labels, strict=True):
        pooler.add(image, frame)
    wanted = [images[labels == number].mean(axis=0) for number in range(9)]
    np.testing.assert_allclose(pooler.finish(9, np.zeros((0, 2), int)), wanted, rtol=1e-5)


def test_what_no_sampled_frame_shows_takes_its_neighbours_mean(clip):
    images, labels = clip
    pooler = FramePooler(MeanColour())
    pooler.add(images[0], labels[0])
    features = pooler.finish(8, np.array([[0, 6], [1, 6], [6, 7]]))
    np.testing.assert_allclose(features[6], features[:2].mean(axis=0), rtol=1e-5)
    np.testing.assert_allclose(features[7], features[6])


def test_borrowing_leaves_what_is_known_and_what_nobody_knows():
    values = np.array([[1.0], [3.0], [0.0], [0.0]], np.float32)
    known = np.array([True, True, False, False])
    found = borrow_from_neighbours(values, known, np.array([[0, 2], [2, 1]]))
    np.testing.assert_array_equal(found, [[1], [3], [2], [0]])
    np.testing.assert_array_equal(values[2], 0)


def test_motion_is_counted_by_direction():
    flow = np.zeros((6, 8, 2), np.float32)
    labels = np.repeat(np.arange(4), 2)[None].repeat(6, axis=0)
    flow[:, 2:4, 0], flow[:, 4:6, 1] = 3, -3
    pooler = MotionPooler()
    pooler.add(flow, labels)
    histograms = pooler.extract(5)
    assert histograms.shape == (5, N_MOTION_DIMS)
    np.testing.assert_allclose(histograms[:4].sum(axis=1), 1)
    assert histograms[0, -1] == histograms[3, -1] == 1
    assert histograms[1].argmax() != histograms[2].argmax()
    assert not histograms[4].any()


def test_what_moves_by_itself_is_distinct():
    flow = np.random.default_rng(0).normal(0, 0.1, (20, 20, 2)).astype(np.float32)
    labels = np.zeros((20, 20), int)
    labels[5:10, 5:10] = 1
    flow[labels == 1] += 4
    pooler = MotionPooler()
    for _ in range(3):
        pooler.add(flow, labels)
    distinct = pooler.measure_distinct(3)
    assert distinct[1] > 0.9 and distinct[0] < 0.2 and distinct[2] == 0
