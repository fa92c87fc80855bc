"""Agreement with people's segmentations: each measure against its definition, pixel by pixel."""

import itertools
import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
from bench_segmentation import (
    count_overlaps,
    measure_achievable,
    measure_boundary_recall,
    measure_covering,
    measure_rand_index,
)


@pytest.fixture(params=range(3))
def pair(request):
    rng = np.random.default_rng(request.param)
    return rng.integers(0, 4, (5, 6)), rng.integers(0, 3, (5, 6))


def test_covering_is_the_best_overlap_of_each_true_region(pair):
    labels, truth = pair
    total = 0.0
    for region in range(3):
        inside = truth == region
        best = max((inside & (labels == k)).sum() / (inside | (labels == k)).sum() for k in range(4))
        total += inside.sum() * best
    assert measure_covering(count_overlaps(labels, truth)) == pytest.approx(total / truth.size)


def test_the_rand_index_counts_pairs(pair):
    labels, truth = (array.ravel() for array in pair)
    agreed = [
        (labels[i] == labels[j]) == (truth[i] == truth[j]) for i, j in itertools.combinations(range(labels.size), 2)
    ]
    assert measure_rand_index(count_overlaps(*pair)) == pytest.approx(np.mean(agreed))


def test_achievable_accuracy_labels_each_segment_by_its_majority(pair):
    labels, truth = pair
    right = sum(np.bincount(truth[labels == k]).max() for k in range(4))
    assert measure_achievable(count_overlaps(labels, truth)) == pytest.approx(right / truth.size)


def test_recall_forgives_the_tolerance_and_no_more():
    truth, outline = np.zeros((9, 9), bool), np.zeros((9, 9), bool)
    truth[:, 2], outline[:, 5] = True, True
    assert measure_boundary_recall(outline, truth, tolerance=3) == 1
    assert measure_boundary_recall(outline, truth, tolerance=2) == 0
