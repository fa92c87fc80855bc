import numpy as np
import pytest
from PIL import Image

from segvote.errors import BadInputError
from segvote.kernels.pixels import resize_labels
from segvote.metrics import label_by_truth, measure_areas, measure_iou, measure_limit

LABELS = np.array([[0, 0, 1, 1], [0, 0, 1, 1], [2, 2, 2, 3]])
TRUTH = np.array([[255, 255, 0, 0], [255, 0, 128, 128], [255, 0, 0, 128]], dtype=np.uint8)


def test_parts_and_areas_by_hand():
    assert measure_areas(LABELS, TRUTH).tolist() == [4, 2, 3, 0]
    assert label_by_truth(LABELS, TRUTH).tolist() == [3 / 4, 0, 1 / 3, 0]


def test_limit_by_hand():
    # Segment 0 alone has a majority: 3 object pixels inside, 1 background inside, 1 object pixel outside.
    assert measure_limit(LABELS, TRUTH) == 3 / 5


def test_one_segment_per_pixel_reaches_everything():
    labels = np.arange(12).reshape(3, 4)
    assert measure_limit(labels, TRUTH) == 1.0


def test_limit_equals_the_slow_way():
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 30, (20, 25))
    truth = rng.choice(np.array([0, 128, 255, 255], np.uint8), (20, 25))
    mask = np.zeros(labels.shape, bool)
    for segment_id in range(labels.max() + 1):
        inside = truth[labels == segment_id]
        mask[labels == segment_id] = np.sum(inside == 255) > np.sum(inside == 0)
    assert measure_limit(labels, truth) == measure_iou(mask, truth)


@pytest.mark.parametrize("size", [(30, 40), (31, 7), (12, 16), (5, 48)])
def test_resizing_is_pillows_nearest(size):
    labels = np.random.default_rng(0).integers(0, 255, (15, 20)).astype(np.uint8)
    expected = np.asarray(Image.fromarray(labels).resize(size[::-1], Image.Resampling.NEAREST))
    np.testing.assert_array_equal(resize_labels(labels, size), expected)


def test_labels_are_resized_to_the_truth():
    large = np.kron(TRUTH, np.ones((3, 3), np.uint8))
    np.testing.assert_array_equal(label_by_truth(LABELS, large), label_by_truth(LABELS, TRUTH))
    assert measure_areas(LABELS, large).tolist() == [36, 18, 27, 0]
    assert measure_limit(LABELS, large) == measure_limit(LABELS, TRUTH)


def test_a_segment_lost_in_a_smaller_truth_keeps_its_place():
    labels = np.array([[0, 1, 2, 3]])
    assert len(measure_areas(labels, np.zeros((1, 2), np.uint8))) == 4


def test_videos_are_measured_frame_on_frame():
    labels, truth = np.stack([LABELS, LABELS + 4]), np.stack([TRUTH, 255 - np.where(TRUTH == 128, 0, TRUTH)])
    assert len(label_by_truth(labels, truth)) == 8
    with pytest.raises(BadInputError, match="frames"):
        measure_limit(labels, TRUTH)
