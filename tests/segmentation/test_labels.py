"""Label maps: connected, gapless, and measured as a loop over pixels would measure them."""

from collections import deque

import numpy as np
import pytest

from segvote.errors import BadInputError
from segvote.segmentation.labels import (
    absorb_small,
    check_labels,
    list_edges,
    measure_border,
    relabel_connected,
)

SHAPES = [(1, 1), (1, 9), (6, 1), (7, 11)]


def list_around(place, shape):
    for axis in range(len(shape)):
        for step in (-1, 1):
            other = list(place)
            other[axis] += step
            if 0 <= other[axis] < shape[axis]:
                yield tuple(other)


def relabel_connected_slow(labels):
    """Flood fill from each pixel in reading order."""
    result = np.full(labels.shape, -1, np.int32)
    n_segments = 0
    for start in np.ndindex(labels.shape):
        if result[start] >= 0:
            continue
        result[start] = n_segments
        queue = deque([start])
        while queue:
            place = queue.popleft()
            for other in list_around(place, labels.shape):
                if result[other] < 0 and labels[other] == labels[start]:
                    result[other] = n_segments
                    queue.append(other)
        n_segments += 1
    return result


def find_neighbours_slow(labels):
    n_segments = labels.max() + 1
    shared = np.zeros((n_segments, n_segments))
    for place in np.ndindex(labels.shape):
        for other in list_around(place, labels.shape):
            if labels[place] != labels[other]:
                shared[labels[place], labels[other]] += 1
    return shared


def measure_border_slow(labels):
    length = np.zeros(labels.max() + 1)
    height, width = labels.shape
    for row, column in np.ndindex(labels.shape):
        length[labels[row, column]] += (row == 0) + (row == height - 1) + (column == 0) + (column == width - 1)
    return length


@pytest.fixture(params=SHAPES, ids=str)
def raw(request):
    return np.random.default_rng(0).integers(-2, 2, request.param)


def test_relabelling_equals_flood_fill(raw):
    result = relabel_connected(raw)
    assert result.dtype == np.int32
    np.testing.assert_array_equal(result, relabel_connected_slow(raw))


def test_edges_equal_counting_each_pair_once(raw):
    labels = relabel_connected(raw)
    edges, lengths = list_edges(labels)
    shared = np.triu(find_neighbours_slow(labels))
    assert edges.dtype == np.int32
    np.testing.assert_array_equal(edges, np.argwhere(shared))
    np.testing.assert_array_equal(lengths, shared[shared > 0])


def test_border_lengths_equal_counting(raw):
    labels = relabel_connected(raw)
    np.testing.assert_array_equal(measure_border(labels), measure_border_slow(labels))


def test_small_segments_join_the_neighbour_with_most_boundary():
    labels = np.array([[0, 0, 0, 1, 1], [0, 2, 0, 1, 1], [0, 0, 0, 1, 1]])
    assert absorb_small(labels, 2).tolist() == [[0, 0, 0, 1, 1]] * 3


@pytest.mark.parametrize("min_size", [0, 3, 10, 1000])
def test_nothing_smaller_than_asked_is_left(raw, min_size):
    result = absorb_small(relabel_connected(raw), min_size)
    assert np.bincount(result.ravel()).min() >= min(min_size, raw.size)
    np.testing.assert_array_equal(result, relabel_connected(result))


@pytest.mark.parametrize("dtype", [np.uint8, np.int16, np.uint64, bool])
def test_label_maps_of_any_integer_are_accepted(dtype):
    largest = True if dtype is bool else np.iinfo(dtype).max
    labels = np.array([[largest, 0, largest]] * 2, dtype)
    assert check_labels(labels).tolist() == [[0, 1, 2], [0, 1, 2]]


def test_a_map_of_another_size_takes_the_nearest_label():
    labels = np.array([[4, 4, 9], [4, 4, 9]])
    assert check_labels(labels, (4, 6)).tolist() == [[0, 0, 0, 0, 1, 1]] * 4
    assert check_labels(np.repeat(np.repeat(labels, 3, 0), 3, 1), (2, 3)).tolist() == [[0, 0, 1]] * 2


@pytest.mark.parametrize(
    "labels", [np.zeros((2, 2)), np.zeros((2, 2, 2), int), np.zeros((0, 3), int)], ids=["float", "3-D", "empty"]
)
def test_an_invalid_label_map_is_an_error(labels):
    with pytest.raises(BadInputError, match="label map must be"):
        check_labels(labels)
