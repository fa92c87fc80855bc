"""Felzenszwalb's merging against sets of nodes that are merged edge by edge."""

import numpy as np
import pytest

from segvote.segmentation.merging import merge_nodes


def merge_slow(edges, weights, sizes, frozen, scale, min_size):
    """Sets of nodes, merged edge by edge."""
    groups = {node: {node} for node in range(len(frozen))}
    numbers, inside = dict(enumerate(frozen)), dict.fromkeys(groups, 0.0)
    where = {node: node for node in groups}

    def unite(a, b, weight=0.0):
        for node in groups[b]:
            where[node] = a
        groups[a] |= groups.pop(b)
        numbers[a], inside[a] = max(numbers[a], numbers[b]), weight

    def measure(group):
        return sum(sizes[node] for node in groups[group])

    for number in np.unique(frozen[frozen >= 0]):
        same = np.flatnonzero(frozen == number)
        for node in same[1:]:
            unite(where[same[0]], node)
    for is_last in (False, True):
        for (first, second), weight in zip(edges.T, weights, strict=True):
            a, b = where[first], where[second]
            if a == b or min(numbers[a], numbers[b]) >= 0:
                continue
            is_alike = all(weight <= inside[c] + scale / measure(c) for c in (a, b))
            if min(measure(a), measure(b)) < min_size if is_last else is_alike:
                unite(a, b, weight)
    return np.array([where[node] for node in range(len(frozen))])


def as_partition(labels):
    return {frozenset(np.flatnonzero(labels == value).tolist()) for value in np.unique(labels)}


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(("scale", "min_size"), [(0.0, 1), (20.0, 1), (20.0, 9), (90.0, 5)])
@pytest.mark.parametrize("is_frozen", [False, True])
def test_merging_equals_sets_merged_edge_by_edge(seed, scale, min_size, is_frozen):
    rng = np.random.default_rng(seed)
    edges = rng.integers(0, 60, (2, 200)).astype(np.int32)
    weights, sizes = np.sort(rng.random(200) * 30), rng.integers(1, 6, 60).astype(float)
    order = rng.permutation(200)
    frozen = rng.integers(-6, 5, 60).clip(-1).astype(np.int32) if is_frozen else np.full(60, -1, np.int32)
    found = merge_nodes(edges[:, order], weights[order], sizes, frozen, scale, min_size)
    assert as_partition(found) == as_partition(merge_slow(edges, weights, sizes, frozen, scale, min_size))
