"""Trees: cuts nest, count right, and Ward's rule is Ward's rule."""

import numpy as np
import pytest

from segvote.errors import BadInputError
from segvote.numerics.pixels import convert_to_lab
from segvote.segmentation.hierarchy import crop_tree, cut_tree, join_trees, link_ward
from segvote.segmentation.labels import list_edges, measure_means, relabel_connected
from segvote.segmentation.ward import segment_ward


def make_scene(seed=0, shape=(12, 15)):
    rng = np.random.default_rng(seed)
    image = rng.integers(0, 256, (*shape, 3), dtype=np.uint8)
    return image, relabel_connected(rng.integers(0, 3, shape))


def cut_tree_slow(parents, altitudes, n_regions):
    """Undo the merges one by one, the first merged first, as sets of segments."""
    n_segments = (len(parents) + 1) // 2
    members = {node: {node} for node in range(n_segments)}
    order = sorted(range(n_segments, len(parents)), key=lambda node: (altitudes[node], node))
    for node in order[: max(n_segments - n_regions, 0)]:
        children = [child for child in range(len(parents)) if parents[child] == node and child != node]
        members[node] = set.union(*(members.pop(child) for child in children))
    result = np.empty(n_segments, int)
    for number, region in enumerate(sorted(members.values(), key=min)):
        result[list(region)] = number
    return result


def build_tree_slow(image, labels):
    """Merge the cheapest pair of neighbours, over and over."""
    lab = convert_to_lab(image).astype(np.float64)
    areas = dict(enumerate(np.bincount(labels.ravel()).astype(float)))
    means = {i: lab[labels == i].mean(axis=0) for i in areas}
    around = {i: set() for i in areas}
    for i, j in list_edges(labels)[0]:
        around[i].add(j)
        around[j].add(i)
    altitudes = dict.fromkeys(areas, 0.0)
    parents = {}
    for node in range(len(areas), 2 * len(areas) - 1):
        costs = {
            (i, j): areas[i] * areas[j] / (areas[i] + areas[j]) * ((means[i] - means[j]) ** 2).sum()
            for i in around
            for j in around[i]
            if i < j
        }
        i, j = min(costs, key=costs.get)
        parents[i] = parents[j] = node
        altitudes[node] = max(costs[i, j], altitudes[i], altitudes[j])
        means[node] = (areas[i] * means[i] + areas[j] * means[j]) / (areas[i] + areas[j])
        areas[node] = areas[i] + areas[j]
        around[node] = (around.pop(i) | around.pop(j)) - {i, j}
        for other in around[node]:
            around[other] = around[other] - {i, j} | {node}
    root = len(altitudes) - 1
    parents[root] = root
    return [parents[i] for i in range(root + 1)], [altitudes[i] for i in range(root + 1)]


def assert_is_tree(parents, altitudes, n_segments):
    assert len(parents) == len(altitudes) == 2 * n_segments - 1
    assert parents[-1] == len(parents) - 1
    assert (parents[:-1] > np.arange(len(parents) - 1)).all()
    assert (altitudes[parents] >= altitudes).all()
    assert (altitudes[:n_segments] == 0).all()
    counts = np.bincount(parents[:-1], minlength=len(parents))
    assert (counts[:n_segments] == 0).all() and (counts[n_segments:] == 2).all()


@pytest.mark.parametrize("seed", range(3))
def test_the_tree_equals_naive_merging(seed):
    image, labels = make_scene(seed, (8, 9))
    parents, altitudes = link_ward(convert_to_lab(image), labels)
    slow_parents, slow_altitudes = build_tree_slow(image, labels)
    np.testing.assert_array_equal(parents, slow_parents)
    np.testing.assert_allclose(altitudes, slow_altitudes, rtol=1e-4)


@pytest.mark.parametrize("n_regions", [1, 2, 3, 10, 50, 10_000])
def test_a_cut_equals_undoing_merges_one_by_one(n_regions):
    image, labels = make_scene()
    parents, altitudes = link_ward(convert_to_lab(image), labels)
    regions = cut_tree(parents, altitudes, n_regions)
    np.testing.assert_array_equal(regions, cut_tree_slow(parents, altitudes, n_regions))
    assert regions.max() + 1 == min(n_regions, labels.max() + 1)


def test_equal_altitudes_are_cut_to_the_number_asked_for():
    parents, altitudes = np.array([4, 4, 5, 6, 5, 6, 6]), np.zeros(7, np.float32)
    assert cut_tree(parents, altitudes, 3).tolist() == [0, 0, 1, 2]
    assert cut_tree(parents, altitudes, 2).tolist() == [0, 0, 0, 1]


@pytest.mark.parametrize("n_regions", [1, 2, 9, 10_000])
def test_a_cropped_tree_cuts_as_the_whole_tree(n_regions):
    image, labels = make_scene()
    whole = link_ward(convert_to_lab(image), labels)
    regions, *cropped = crop_tree(*whole, n_regions)
    assert_is_tree(*cropped, regions.max() + 1)
    np.testing.assert_array_equal(regions, cut_tree(*whole, n_regions))
    for n_coarse in (1, 2, 5, 9):
        np.testing.assert_array_equal(cut_tree(*cropped, n_coarse)[regions], cut_tree(*whole, min(n_coarse, n_regions)))


@pytest.mark.parametrize("shape", [(1, 1), (12, 15)])
@pytest.mark.parametrize("n_channels", [1, 3])
def test_means_are_those_of_each_segments_pixels(shape, n_channels):
    rng = np.random.default_rng(0)
    labels, values = relabel_connected(rng.integers(0, 3, shape)), rng.normal(size=(*shape, n_channels))
    expected = [values[labels == segment].mean(axis=0) for segment in range(labels.max() + 1)]
    np.testing.assert_allclose(measure_means(values, labels, np.bincount(labels.ravel())), expected)


def test_no_region_at_all_is_refused():
    with pytest.raises(BadInputError, match="at least 1"):
        cut_tree(np.zeros(1, int), np.zeros(1), 0)


@pytest.mark.parametrize("n_trees", [1, 2, 3, 5])
def test_joined_trees_keep_their_merges(n_trees):
    rng = np.random.default_rng(0)
    images = rng.integers(0, 256, (n_trees, 5, 8, 3), dtype=np.uint8).repeat(6, axis=1).repeat(6, axis=2)
    parts = [segment_ward(image, n_segments=7) for image in images]
    parents, altitudes = join_trees([(part.parents, part.altitudes) for part in parts])
    n_segments = sum(part.n_segments for part in parts)
    assert_is_tree(parents, altitudes, n_segments)
    own = [altitudes[n_segments:][: parts[0].n_segments - 1], parts[0].altitudes[parts[0].n_segments :]]
    np.testing.assert_array_equal(*own)
