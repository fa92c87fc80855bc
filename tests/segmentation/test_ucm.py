"""Published contour maps: every cut is the threshold of the map."""

import numpy as np
import pytest

from segvote.errors import BadInputError
from segvote.segmentation.hierarchy import cut_tree, link_ward
from segvote.segmentation.labels import relabel_connected
from segvote.segmentation.ucm import segment_ucm


def make_ucm(seed=0, shape=(7, 9)):
    """A contour map from a Ward tree: between two pixels stands the altitude at which their segments merge."""
    rng = np.random.default_rng(seed)
    labels = relabel_connected(rng.integers(0, 3, shape))
    parents, altitudes = link_ward(rng.uniform(0, 100, (*shape, 3)), labels)
    ranks = np.unique(altitudes, return_inverse=True)[1]
    ucm2 = np.zeros((2 * shape[0] + 1, 2 * shape[1] + 1))
    for row, column in np.ndindex(shape):
        for down, right in ((0, 1), (1, 0)):
            if row + down < shape[0] and column + right < shape[1]:
                pair = labels[row, column], labels[row + down, column + right]
                ucm2[2 * row + 1 + down, 2 * column + 1 + right] = find_merge(parents, ranks, *pair)
    return ucm2, labels


def find_merge(parents, heights, i, j):
    while i != j:
        i, j = (parents[i], j) if i < j else (i, parents[j])
    return heights[i]


@pytest.mark.parametrize("seed", range(3))
def test_every_cut_is_a_threshold_of_the_map(seed):
    ucm2, labels = make_ucm(seed)
    result = segment_ucm(ucm2, None)
    np.testing.assert_array_equal(result.labels, labels)
    for threshold in np.unique(ucm2):
        n_regions = 1 + int((result.altitudes[result.n_segments :] > threshold).sum())
        cut = cut_tree(result.parents, result.altitudes, n_regions)[result.labels]
        np.testing.assert_array_equal(cut, flood(ucm2 <= threshold, labels.shape))


def flood(is_open, shape):
    """Pixels joined through open faces, numbered in reading order."""
    labels = np.arange(shape[0] * shape[1]).reshape(shape)
    while True:
        before = labels.copy()
        for row, column in np.ndindex(shape):
            for down, right in ((0, 1), (1, 0)):
                there = row + down, column + right
                if there[0] < shape[0] and there[1] < shape[1] and is_open[2 * row + 1 + down, 2 * column + 1 + right]:
                    labels[row, column] = labels[there] = min(labels[row, column], labels[there])
        if np.array_equal(before, labels):
            return np.unique(labels, return_inverse=True)[1].reshape(shape)


@pytest.mark.parametrize("shape", [(4, 5), (7,), (1, 3)], ids=str)
def test_what_is_no_contour_map_is_refused(shape):
    with pytest.raises(BadInputError, match="ucm2"):
        segment_ucm(np.zeros(shape))


@pytest.mark.parametrize("seed", range(3))
def test_a_map_on_a_finer_grid_has_the_same_regions_and_tree(seed):
    ucm2, labels = make_ucm(seed)
    plain, finer = segment_ucm(ucm2, None), segment_ucm(ucm2, None, (3 * labels.shape[0], 3 * labels.shape[1]))
    np.testing.assert_array_equal(finer.labels, np.kron(plain.labels, np.ones((3, 3), int)))
    np.testing.assert_allclose(np.sort(finer.altitudes), np.sort(plain.altitudes))


def test_a_map_of_other_proportions_is_refused():
    with pytest.raises(BadInputError, match="20 x 30 pixels"):
        segment_ucm(np.zeros((41, 61)), 5, (30, 20))
