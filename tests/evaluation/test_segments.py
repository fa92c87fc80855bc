"""Sums over segments equal sums over pixels."""

import numpy as np
import pytest

from segvote.evaluation.segments import count_segments, measure_box_overlap, measure_ious, measure_limit
from segvote.evaluation.truth import Truth
from segvote.metrics import label_by_truth, measure_iou
from segvote.numerics.pixels import resize_labels


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.mark.parametrize("scale", [1, 2, 0.5])
def test_counted_overlaps_equal_those_of_the_pixels(rng, scale):
    for _ in range(20):
        labels = rng.integers(0, 12, size=(20, 30))
        labels.ravel()[:12] = np.arange(12)
        height, width = int(20 * scale), int(30 * scale)
        truth = rng.choice(np.array([0, 128, 255], dtype=np.uint8), size=(height, width))
        segments = count_segments(labels, Truth(mask=truth), (height, width))
        decisions = rng.random(12) < 0.5
        mask = decisions[resize_labels(labels, (height, width))]
        assert measure_ious([segments.measure(decisions)])[0] == pytest.approx(measure_iou(mask, truth))
        best = (label_by_truth(labels, truth)[0] > 0.5)[resize_labels(labels, (height, width))]
        assert measure_ious([measure_limit(segments)])[0] == pytest.approx(measure_iou(best, truth))


def test_overlaps_of_frames_add_up_to_that_of_the_video(rng):
    labels = rng.integers(0, 5, size=(3, 8, 8))
    truth = rng.choice(np.array([0, 255], dtype=np.uint8), size=(3, 8, 8))
    decisions = np.array([True, False, True, False, True])
    frames = [count_segments(labels[i], Truth(mask=truth[i]), (8, 8)).measure(decisions) for i in range(3)]
    expected = measure_iou(decisions[labels].reshape(-1, 8), truth.reshape(-1, 8))
    assert measure_ious([np.sum(frames, axis=0)])[0] == pytest.approx(expected)


def test_nothing_found_where_nothing_is_counts_as_right():
    segments = count_segments(np.zeros((4, 4), dtype=int), Truth(mask=np.zeros((4, 4), dtype=np.uint8)), (4, 4))
    assert measure_ious([segments.measure(np.array([False]))])[0] == 1
    assert measure_ious([segments.measure(np.array([True]))])[0] == 0


def test_boxes_are_scaled_and_the_best_one_counts():
    labels = np.zeros((10, 20), dtype=int)
    labels[2:6, 4:10] = 1
    boxes = np.array([[8.0, 4.0, 20.0, 12.0], [0.0, 0.0, 2.0, 2.0]])
    segments = count_segments(labels, Truth(boxes=boxes), (20, 40))
    assert segments.measure(np.array([False, True])) == (1.0, 1.0)
    assert segments.measure(np.array([False, False])) == (0.0, 1.0)
    assert measure_limit(segments) == (1.0, 1.0)


def test_the_box_around_the_largest_part_counts():
    mask = np.zeros((10, 10), dtype=bool)
    mask[0, 0] = mask[4:8, 5:9] = True
    assert measure_box_overlap(mask, np.array([[0, 0, 1, 1], [5, 4, 9, 8]])) == 1
    assert measure_box_overlap(np.zeros((3, 3), dtype=bool), np.array([[0, 0, 1, 1]])) == 0
