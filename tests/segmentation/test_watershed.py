"""Basins: those of the watershed cut, by whichever way they are found."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from segvote.numerics.quick_higra import hg
from segvote.segmentation.labels import relabel_connected
from segvote.segmentation.ward import find_basins


def follow_lowest(gradient: np.ndarray) -> np.ndarray:
    """The formula plainly: from every pixel to its lowest neighbour until two pixels are each other's lowest."""
    ends = {}
    for place in np.ndindex(gradient.shape):
        seen = [place]
        while True:
            beside = [(seen[-1][0] + y, seen[-1][1] + x) for y, x in ((-1, 0), (1, 0), (0, -1), (0, 1))]
            inside = [one for one in beside if 0 <= one[0] < gradient.shape[0] and 0 <= one[1] < gradient.shape[1]]
            seen.append(min(inside, key=lambda one: gradient[one]))
            if len(seen) > 2 and seen[-1] == seen[-3]:
                break
        ends[place] = min(seen[-2:])
    numbers = {end: number for number, end in enumerate(dict.fromkeys(ends.values()))}
    return np.array([numbers[ends[place]] for place in np.ndindex(gradient.shape)]).reshape(gradient.shape)


def cut_grid(gradient: np.ndarray) -> np.ndarray:
    """higra's watershed cut of the whole image."""
    graph = hg.get_4_adjacency_graph(gradient.shape)
    weights = hg.weight_graph(graph, gradient, hg.WeightFunction.mean)
    return relabel_connected(hg.labelisation_watershed(graph, weights).reshape(gradient.shape))


shapes = st.tuples(st.integers(1, 12), st.integers(1, 12)).filter(lambda shape: shape[0] * shape[1] > 1)


@given(shapes, st.integers(0, 1000))
def test_pixels_follow_their_lowest_neighbour(shape, seed):
    gradient = np.random.default_rng(seed).permutation(shape[0] * shape[1]).reshape(shape).astype(np.float32)
    assert np.array_equal(find_basins(gradient), follow_lowest(gradient))


@given(shapes, st.integers(1, 6), st.integers(0, 1000))
def test_basins_are_those_of_higra(shape, n_values, seed):
    gradient = np.random.default_rng(seed).integers(0, n_values, shape).astype(np.float32)
    found = find_basins(gradient)
    assert found.dtype == np.int32
    assert np.array_equal(found, cut_grid(gradient))
