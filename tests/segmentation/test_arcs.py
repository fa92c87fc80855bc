"""Arcs: lengths, directions, and what is read along them."""

import numpy as np
import pytest

from segvote.segmentation.arcs import average_along, find_arcs
from segvote.segmentation.labels import find_neighbours, relabel_connected


@pytest.fixture
def basins():
    return relabel_connected(np.random.default_rng(0).integers(0, 3, (10, 12)))


def test_lengths_are_the_shared_boundaries(basins):
    arcs, shared = find_arcs(basins), find_neighbours(basins).toarray()
    np.testing.assert_array_equal(arcs.lengths, shared[arcs.pairs[:, 0], arcs.pairs[:, 1]])
    assert arcs.lengths.sum() == shared.sum() / 2


@pytest.mark.parametrize("direction", range(8))
def test_a_straight_arc_knows_its_normal(direction):
    y, x = np.mgrid[-20:21, -20:21]
    angle = direction * np.pi / 8
    arcs = find_arcs((x * np.cos(angle) + y * np.sin(angle) > 0.3).astype(int))
    assert arcs.directions.tolist() == [direction]
    assert arcs.straightness[0] > 0.95


def test_a_straight_arc_reads_its_own_direction_and_a_short_one_the_strongest():
    maps = np.arange(8.0)[:, None, None] * np.ones((8, 9, 9))
    strongest = np.full((9, 9), 5)
    wall = np.repeat((np.arange(9) > 4)[None].astype(int), 9, axis=0)
    arcs = find_arcs(wall)
    np.testing.assert_allclose(average_along(arcs, maps, strongest), 5 * (1 - arcs.straightness))
    corner = np.zeros((9, 9), int)
    corner[0, 0] = 1
    np.testing.assert_allclose(average_along(find_arcs(corner), maps, strongest), 5)
