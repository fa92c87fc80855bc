"""Trees over segments: building them, cutting them, dropping their fine end.

A tree over n segments has 2n - 1 nodes; node i < n is segment i, parents have higher numbers than their children, the
root is last and its own parent. Altitudes never fall on the way up. This is the tree of `segvote.types.Segmentation`.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from segvote.errors import BadInputError
from segvote.numerics.pixels import convert_to_lab
from segvote.segmentation.labels import list_edges, measure_means
from segvote.types import Segmentation


def cut_tree(parents: np.ndarray, altitudes: np.ndarray, n_regions: int) -> np.ndarray:
    """Merge segments, the most similar first, until n_regions are left.

    Returns (n,) int32 the region of each segment, numbered in the order of each region's first segment.
    """
    return crop_tree(parents, altitudes, n_regions)[0]


def crop_tree(parents: np.ndarray, altitudes: np.ndarray, n_regions: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Cut a tree as `cut_tree` does and keep the part above the cut as the tree of the regions.

    Returns (n,) int32 the region of each segment, and parents (2 m - 1,) int32 and altitudes float32 of the m regions.
    """
    if n_regions < 1:
        raise BadInputError(f"n_regions must be at least 1, got {n_regions}; ask for one region or more")
    n_segments = (len(parents) + 1) // 2
    n_merges = max(n_segments - n_regions, 0)
    # A stable sort keeps children before parents of the same altitude, so that any prefix is a proper cut.
    merges = n_segments + np.argsort(altitudes[n_segments:], kind="stable")
    merged = np.zeros(len(parents), bool)
    merged[merges[:n_merges]] = True
    tops = _follow(np.where(merged[parents], parents, np.arange(len(parents))))[:n_segments]
    nodes, first, inverse = np.unique(tops, return_index=True, return_inverse=True)
    order = np.argsort(first)  # regions by appearance
    regions = np.argsort(order).astype(np.int32)[inverse]
    kept = np.concatenate([nodes[order], merges[n_merges:]])
    numbers = np.zeros(len(parents), np.int32)
    numbers[kept] = np.arange(len(kept))
    heights = np.concatenate([np.zeros(len(nodes)), altitudes[merges[n_merges:]]]).astype(np.float32)
    return regions, numbers[parents[kept]], heights


def _follow(steps: np.ndarray) -> np.ndarray:
    """The last node on the path from each node, by doubling the steps: trees may be as deep as they are large."""
    while not np.array_equal(longer := steps[steps], steps):
        steps = longer
    return steps


def link_ward(lab: np.ndarray, labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Merge a label map (h, w) of connected segments into a tree by Ward's rule on mean colours (h, w, channels).

    Returns parents (2 n - 1,) int32 and altitudes (2 n - 1,) float32.
    """
    areas = np.bincount(labels.ravel())
    if len(areas) == 1:
        return np.zeros(1, np.int32), np.zeros(1, np.float32)
    from segvote.numerics.quick_higra import hg

    graph = hg.UndirectedGraph(len(areas))
    graph.add_edges(*list_edges(labels)[0].T)
    means = measure_means(lab, labels, areas)
    tree, altitudes = hg.binary_partition_tree_ward_linkage(graph, means, areas.astype(np.float64))
    return tree.parents().astype(np.int32), altitudes.astype(np.float32)


def join_trees(trees: Sequence[tuple[np.ndarray, np.ndarray]]) -> tuple[np.ndarray, np.ndarray]:
    """One tree over the segments of several: parents and altitudes as in `segvote.types.Segmentation`.

    The trees keep their merges; then they merge one after the other, at the height of the highest of them.
    """
    sizes = [(len(parents) + 1) // 2 for parents, _ in trees]
    n_segments, n_nodes = sum(sizes), 2 * sum(sizes) - 1
    parents, altitudes = np.arange(n_nodes, dtype=np.int32), np.zeros(n_nodes, np.float32)
    leaf, inner, roots = 0, n_segments, []
    for size, (own_parents, own_altitudes) in zip(sizes, trees, strict=True):
        numbers = np.concatenate([leaf + np.arange(size), inner + np.arange(size - 1)])
        parents[numbers], altitudes[numbers] = numbers[own_parents], own_altitudes
        roots.append(numbers[-1])
        leaf, inner = leaf + size, inner + size - 1
    top = inner + np.arange(len(trees) - 1)
    parents[roots[:2]] = top[:1] if len(top) else roots[:1]
    parents[roots[2:]], parents[top[:-1]] = top[1:], top[1:]
    altitudes[top] = altitudes.max()
    return parents, altitudes


def build_segmentation(image: np.ndarray, labels: np.ndarray, n_segments: int | None = None) -> Segmentation:
    """A label map (h, w) of connected segments 0 .. n-1 of any origin with its Ward tree.

    `image` is (h, w, 3) uint8 RGB. Segments are merged down to `n_segments` where there are more; None keeps all.
    """
    parents, altitudes = link_ward(convert_to_lab(image), labels)
    return crop_segmentation(labels, parents, altitudes, n_segments or len(parents))


def crop_segmentation(labels: np.ndarray, parents: np.ndarray, altitudes: np.ndarray, n_segments: int) -> Segmentation:
    """Segmentation of at most n_segments from a finer label map (h, w) and its tree."""
    regions, parents, altitudes = crop_tree(parents, altitudes, n_segments)
    return Segmentation(regions[labels], parents, altitudes)
