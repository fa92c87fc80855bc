"""Overlaps, boxes, and the limit of a segmentation."""

import numpy as np
import pytest
from PIL import Image
from pycocotools import mask as coco

from segvote.errors import BadInputError
from segvote.metrics import (
    find_box,
    label_by_truth,
    measure_box_iou,
    measure_corloc,
    measure_iou,
)
from segvote.numerics.pixels import resize_labels

LABELS = np.array([[0, 0, 1, 1], [0, 0, 1, 1], [2, 2, 2, 3]])
TRUTH = np.array([[255, 255, 0, 0], [255, 0, 128, 128], [255, 0, 0, 128]], dtype=np.uint8)


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def make_truth(rng, shape=(17, 23)):
    return rng.choice(np.array([0, 128, 255], dtype=np.uint8), size=shape)


def test_nothing_to_find_and_nothing_found_is_agreement():
    assert measure_iou(np.zeros((2, 2)), np.zeros((2, 2), np.uint8)) == 1.0
    assert measure_iou(np.ones((2, 2)), np.full((2, 2), 128, np.uint8)) == 1.0
    assert measure_iou(np.ones((2, 2)), np.zeros((2, 2), np.uint8)) == 0.0


def test_iou_equals_counting_pixel_by_pixel(rng):
    mask, truth = rng.random((17, 23)) < 0.5, make_truth(rng)
    both = either = 0
    for pixel in np.ndindex(mask.shape):
        if truth[pixel] == 128:
            continue
        both += mask[pixel] and truth[pixel] == 255
        either += mask[pixel] or truth[pixel] == 255
    assert measure_iou(mask, truth) == both / either


def test_other_values_in_the_truth_are_an_error():
    with pytest.raises(BadInputError, match="1, 7"):
        measure_iou(np.zeros((1, 3)), np.array([[0, 1, 7]]))


def test_another_shape_is_an_error():
    with pytest.raises(BadInputError, match="one shape"):
        measure_iou(np.zeros((2, 3)), np.zeros((3, 2), bool))


def test_corloc_is_strictly_above_the_threshold():
    assert measure_corloc([0.5, 0.51, 0.9, 0.1]) == 0.5
    assert measure_corloc([0.125, 0.126], threshold=0.125) == 0.5


def test_box_ends_are_left_out():
    mask = np.zeros((10, 20), bool)
    mask[3:5, 7:16] = True
    assert find_box(mask).tolist() == [7, 3, 16, 5]
    assert find_box(np.zeros((4, 4))).tolist() == [0, 0, 0, 0]


def test_box_iou_equals_that_of_pycocotools(rng):
    corners = np.sort(rng.integers(0, 50, size=(12, 2, 2)), axis=1).reshape(12, 4) + [0, 0, 1, 1]
    sizes = np.hstack([corners[:, :2], corners[:, 2:] - corners[:, :2]]).astype(float)
    expected = coco.iou(sizes[:5], sizes[5:], [0] * 7)
    np.testing.assert_allclose(measure_box_iou(corners[:5], corners[5:]), expected)


def test_the_majority_equals_the_slow_way():
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 30, (20, 25))
    truth = rng.choice(np.array([0, 128, 255, 255], np.uint8), (20, 25))
    mask = np.zeros(labels.shape, bool)
    for segment_id in range(labels.max() + 1):
        inside = truth[labels == segment_id]
        mask[labels == segment_id] = np.sum(inside == 255) > np.sum(inside == 0)
    np.testing.assert_array_equal((label_by_truth(labels, truth)[0] > 0.5)[labels], mask)


@pytest.mark.parametrize("size", [(30, 40), (31, 7), (12, 16), (5, 48)])
def test_resizing_is_pillows_nearest(size):
    labels = np.random.default_rng(0).integers(0, 255, (15, 20)).astype(np.uint8)
    expected = np.asarray(Image.fromarray(labels).resize(size[::-1], Image.Resampling.NEAREST))
    np.testing.assert_array_equal(resize_labels(labels, size), expected)


def test_labels_are_resized_to_the_truth():
    large = np.kron(TRUTH, np.ones((3, 3), np.uint8))
    fractions, areas = label_by_truth(LABELS, large)
    np.testing.assert_array_equal(fractions, label_by_truth(LABELS, TRUTH)[0])
    assert areas.tolist() == [36, 18, 27, 0]
