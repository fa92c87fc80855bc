"""Arcs: lengths, directions, what is read along them, and merging, against sets of basins merged one by one."""

import numpy as np
import pytest

from segvote.segmentation.arcs import average_along, find_arcs, link_boundaries
from segvote.segmentation.hierarchy import cut_tree
from segvote.segmentation.labels import list_edges, relabel_connected


def test_arcs_are_the_shared_boundaries():
    basins = relabel_connected(np.random.default_rng(0).integers(0, 3, (10, 12)))
    arcs, (edges, lengths) = find_arcs(basins), list_edges(basins)
    np.testing.assert_array_equal(arcs.pairs, edges)
    np.testing.assert_array_equal(arcs.lengths, lengths)


@pytest.mark.parametrize("direction", range(8))
def test_a_straight_arc_knows_its_normal(direction):
    y, x = np.mgrid[-20:21, -20:21]
    angle = direction * np.pi / 8
    arcs = find_arcs((x * np.cos(angle) + y * np.sin(angle) > 0.3).astype(int))
    assert arcs.directions.tolist() == [direction]
    assert arcs.straightness[0] > 0.95


def test_straight_arcs_read_their_direction():
    maps = np.arange(8.0)[:, None, None] * np.ones((8, 9, 9))
    strongest = np.full((9, 9), 5)
    wall = np.repeat((np.arange(9) > 4)[None].astype(int), 9, axis=0)
    arcs = find_arcs(wall)
    np.testing.assert_allclose(average_along(arcs, maps, strongest), 5 * (1 - arcs.straightness))
    corner = np.zeros((9, 9), int)
    corner[0, 0] = 1
    np.testing.assert_allclose(average_along(find_arcs(corner), maps, strongest), 5)


def merge_slow(arcs, strengths, areas, size_prior, n_regions):
    """Sets of basins left when the weakest boundary has been merged over and over."""
    regions = [{basin} for basin in range(len(areas))]
    while len(regions) > n_regions:
        i, j = find_weakest_slow(regions, arcs, strengths, areas, size_prior)
        regions = [region for k, region in enumerate(regions) if k not in (i, j)] + [regions[i] | regions[j]]
    return sorted(sorted(region) for region in regions)


def find_weakest_slow(regions, arcs, strengths, areas, size_prior):
    odds = {}
    for j, second in enumerate(regions):
        for i, first in enumerate(regions[:j]):
            between = [len({a, b} & first) == 1 == len({a, b} & second) for a, b in arcs.pairs.tolist()]
            if any(between):
                smaller = min(areas[list(first)].sum(), areas[list(second)].sum()) / areas.sum()
                odds[i, j] = np.average(strengths[between], weights=arcs.lengths[between]) + size_prior * np.log(
                    smaller
                )
    return min(odds, key=odds.get)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("size_prior", [0.0, 0.4, 2.0])
def test_the_merging_order_is_that_of_sets_merged_one_by_one(seed, size_prior):
    rng = np.random.default_rng(seed)
    basins = relabel_connected(rng.integers(0, 3, (5, 6)))
    arcs, areas = find_arcs(basins), np.bincount(basins.ravel())
    strengths = rng.normal(size=len(arcs.lengths))
    parents, altitudes = link_boundaries(arcs, strengths, areas, size_prior)
    n_basins = len(areas)
    assert len(parents) == 2 * n_basins - 1 and (altitudes[parents] >= altitudes).all()
    for n_regions in (2, 4, n_basins // 2):
        # Nodes are numbered in merging order, so their numbers cut as the merging went.
        regions = cut_tree(parents, np.arange(len(parents)), n_regions)
        found = sorted(np.flatnonzero(regions == k).tolist() for k in range(n_regions))
        assert found == merge_slow(arcs, strengths, areas, size_prior, n_regions)
