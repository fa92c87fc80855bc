"""Single objects as a detector is judged, against pycocotools where it is installed."""

import itertools

import numpy as np
import pytest

from segvote.errors import BadInputError
from segvote.io.encodings.rle import encode_rle
from segvote.metrics.detection import (
    Detections,
    match_detections,
    measure_box_overlap,
    measure_count_error,
    measure_instance_ap,
    measure_mean_ap,
)


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def make_grid(rng, keep):
    """(60, 60) int: squares from 1 on a grid, each shifted and shrunk a little, some left out."""
    squares = np.zeros((60, 60), dtype=np.int32)
    number = 0
    for row, column in itertools.product(range(0, 60, 20), repeat=2):
        if rng.random() < keep:
            number += 1
            top, left, size = row + rng.integers(4), column + rng.integers(4), 15 - rng.integers(6)
            squares[top : top + size, left : left + size] = number
    return squares


@pytest.fixture
def pairs(rng):
    """Eight images: objects, their scores, and the truth (h, w) bool."""
    images = []
    for _ in range(8):
        marked = make_grid(rng, 0.7)
        images.append((marked, rng.random(marked.max()), make_grid(rng, 0.7) > 0))
    return images


def judge(pairs):
    return [match_detections(marked > 0, truth, marked, scores) for marked, scores, truth in pairs]


def test_average_precision_is_that_of_pycocotools(pairs):
    pytest.importorskip("pycocotools")
    from pycocotools.coco import COCO
    from pycocotools.cocoeval import COCOeval
    from scipy import ndimage

    truths, results = [], []
    for image, (marked, scores, truth) in enumerate(pairs, start=1):
        for part in _list_masks(ndimage.label(truth, np.ones((3, 3)))[0]):
            box = {"bbox": [0, 0, 1, 1], "area": int(part.sum()), "iscrowd": 0}
            truths.append({"id": len(truths) + 1, "image_id": image, "category_id": 1, **box, "segmentation": part})
        for part, score in zip(_list_masks(marked), scores, strict=True):
            results.append({"image_id": image, "category_id": 1, "segmentation": part, "score": float(score)})
    for record in truths + results:
        record["segmentation"] = encode_rle(record["segmentation"])
    coco = COCO()
    images = [{"id": number, "height": 60, "width": 60} for number in range(1, len(pairs) + 1)]
    coco.dataset = {"images": images, "annotations": truths, "categories": [{"id": 1, "name": "object"}]}
    coco.createIndex()
    judged = COCOeval(coco, coco.loadRes(results), "segm")
    judged.evaluate()
    judged.accumulate()
    judged.summarize()
    assert measure_mean_ap(judge(pairs)) == pytest.approx(judged.stats[0], abs=1e-9)
    assert measure_instance_ap(judge(pairs), 0.5) == pytest.approx(judged.stats[1], abs=1e-9)


def _list_masks(objects):
    return [objects == number for number in range(1, objects.max() + 1)]


def test_box_overlap_is_the_best_of_all_pairings(rng):
    corners = rng.integers(0, 20, (7, 2))
    boxes = np.hstack([corners, corners + rng.integers(3, 12, (7, 2))])
    few, many = boxes[:3], boxes[3:]
    from segvote.metrics import measure_box_iou

    best = max(
        sum(float(measure_box_iou(few[place], many[other])[0, 0]) for place, other in enumerate(order))
        for order in itertools.permutations(range(4), 3)
    )
    assert measure_box_overlap(few, many) == pytest.approx(best / 4)
    assert measure_box_overlap(many, few) == pytest.approx(best / 4)


def test_perfect_objects_have_every_figure_perfect(pairs):
    same = [match_detections(marked > 0, marked > 0, marked, scores) for marked, scores, _ in pairs]
    assert measure_mean_ap(same) == 1
    assert measure_count_error(same) == 0
    assert all(one.box_iou == 1 for one in same)


def test_objects_in_ignored_regions_do_not_count():
    truth = np.array([[255, 255, 0, 128, 128]], dtype=np.uint8)
    marked = np.array([[1, 1, 0, 2, 2]])
    assert match_detections(marked > 0, truth, marked, [0.2, 0.9]) == Detections((0.2,), (1.0,), 1, 1.0)


def test_empty_images_have_no_box_overlap():
    empty = np.zeros((2, 3), dtype=bool)
    assert match_detections(empty, empty, empty.astype(int), []) == Detections((), (), 0, None)
    assert measure_instance_ap([Detections((), (), 0, None)]) is None
    assert measure_instance_ap([Detections((), (), 2, 0.0)]) == 0


def test_an_object_without_a_score_is_an_error():
    mask = np.ones((1, 2), dtype=bool)
    with pytest.raises(BadInputError, match="score for each of 2 objects"):
        match_detections(mask, mask, [[1, 2]], [0.5])
