"""Label maps: connected, gapless, and measured as a loop over pixels would measure them."""

from collections import deque

import numpy as np
import pytest

from segvote.errors import BadInputError
from segvote.segmentation.labels import (
    absorb_small,
    check_labels,
    compress_numbers,
    find_neighbours,
    list_edges,
    measure_areas,
    measure_border,
    relabel_connected,
)

SHAPES = [(1, 1), (1, 9), (6, 1), (7, 11), (3, 5, 4)]


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
    *_, height, width = labels.shape
    for place in np.ndindex(labels.shape):
        row, column = place[-2:]
        length[labels[place]] += (row == 0) + (row == height - 1) + (column == 0) + (column == width - 1)
    return length


@pytest.fixture(params=SHAPES, ids=str)
def raw(request):
    return np.random.default_rng(0).integers(-2, 2, request.param)


def test_relabelling_equals_flood_fill(raw):
    result = relabel_connected(raw)
    assert result.dtype == np.int32
    np.testing.assert_array_equal(result, relabel_connected_slow(raw))


def test_shared_boundaries_equal_counting(raw):
    labels = relabel_connected(raw)
    shared = find_neighbours(labels)
    np.testing.assert_array_equal(shared.toarray(), find_neighbours_slow(labels))


def test_edges_are_the_neighbours_each_pair_once_in_order(raw):
    labels = relabel_connected(raw)
    edges, lengths = list_edges(labels)
    shared = np.triu(find_neighbours_slow(labels))
    assert edges.dtype == np.int32
    np.testing.assert_array_equal(edges, np.argwhere(shared))
    np.testing.assert_array_equal(lengths, shared[shared > 0])


@pytest.mark.parametrize("values", [[3, -2, 3, 9], [0, 2**62, -(2**62)], [-128, 127, 0], [2**63, 2**63 - 1, 2**64 - 1]])
@pytest.mark.parametrize("n_times", [1, 100])
def test_numbers_are_compressed_to_their_ranks(values, n_times):
    """Many pixels of close values are ranked by a table, others by sorting."""
    dtype = {127: np.int8, 2**64 - 1: np.uint64}.get(max(values), np.int64)
    labels = np.array([values] * n_times, dtype)
    ranks = [sorted(set(values)).index(value) for value in values]
    np.testing.assert_array_equal(compress_numbers(labels), [ranks] * n_times)


def test_border_lengths_equal_counting(raw):
    labels = relabel_connected(raw)
    np.testing.assert_array_equal(measure_border(labels), measure_border_slow(labels))


def test_small_segments_join_the_neighbour_with_most_boundary():
    labels = np.array([[0, 0, 0, 1, 1], [0, 2, 0, 1, 1], [0, 0, 0, 1, 1]])
    assert absorb_small(labels, 2).tolist() == [[0, 0, 0, 1, 1]] * 3


@pytest.mark.parametrize("min_size", [0, 3, 10, 1000])
def test_nothing_smaller_than_asked_is_left(raw, min_size):
    result = absorb_small(relabel_connected(raw), min_size)
    assert measure_areas(result).min() >= min(min_size, raw.size)
    np.testing.assert_array_equal(result, relabel_connected(result))


@pytest.mark.parametrize("dtype", [np.uint8, np.int16, np.uint64, bool])
def test_users_label_maps_of_any_integer_are_accepted(dtype):
    labels = np.array([[1, 0, 1], [1, 0, 1]]).astype(dtype)
    assert check_labels(labels).tolist() == [[0, 1, 2], [0, 1, 2]]


def test_a_map_of_another_size_takes_the_nearest_label():
    labels = np.array([[4, 4, 9], [4, 4, 9]])
    assert check_labels(labels, (4, 6)).tolist() == [[0, 0, 0, 0, 1, 1]] * 4
    assert check_labels(np.repeat(np.repeat(labels, 3, 0), 3, 1), (2, 3)).tolist() == [[0, 0, 1]] * 2


@pytest.mark.parametrize(
    "labels", [np.zeros((2, 2)), np.zeros((2, 2, 2), int), np.zeros((0, 3), int)], ids=["float", "3-D", "empty"]
)
def test_what_is_no_label_map_is_refused(labels):
    with pytest.raises(BadInputError, match="label map must be"):
        check_labels(labels)
