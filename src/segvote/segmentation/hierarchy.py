"""Trees over segments: building them, cutting them, dropping their fine end.

A tree over n segments has 2n - 1 nodes; node i < n is segment i, parents have higher numbers than their children, the
root is last and its own parent. Altitudes never fall on the way up. This is the tree of `segvote.types.Segmentation`.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from segvote.errors import BadInputError
from segvote.kernels.pixels import convert_to_lab
from segvote.segmentation.labels import list_edges, measure_areas, measure_means
from segvote.types import Segmentation


def cut_tree(parents: np.ndarray, altitudes: np.ndarray, n_regions: int) -> np.ndarray:
    """Merge segments, the most alike first, until n_regions are left.

    Parameters
    ----------
    parents, altitudes
        (2 n - 1,) a tree over n segments.
    n_regions
        How many regions to leave; all segments are left when there are fewer.

    Returns
    -------
    (n,) int32: the region of each segment, 0 .. m-1 in the order of each region's first segment.
    """
    return number_by_appearance(find_tops(parents, altitudes, n_regions))


def crop_tree(parents: np.ndarray, altitudes: np.ndarray, n_regions: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Cut a tree as `cut_tree` does and keep the part above the cut as the tree of the regions.

    Returns (n,) int32 the region of each segment, and parents (2 m - 1,) int32 and altitudes float32 of the m regions.
    """
    tops = find_tops(parents, altitudes, n_regions)
    regions = number_by_appearance(tops)
    n_left = int(regions.max()) + 1
    above = order_merges(altitudes)[len(regions) - n_left :]
    kept = np.concatenate([tops[np.unique(regions, return_index=True)[1]], above])
    numbers = np.zeros(len(parents), np.int32)
    numbers[kept] = np.arange(len(kept))
    heights = np.concatenate([np.zeros(n_left), altitudes[above]]).astype(np.float32)
    return regions, numbers[parents[kept]], heights


def order_merges(altitudes: np.ndarray) -> np.ndarray:
    """Inner nodes, the first merged first."""
    n_segments = (len(altitudes) + 1) // 2
    # A stable sort keeps children before parents of the same altitude, so that any prefix is a proper cut.
    return n_segments + np.argsort(altitudes[n_segments:], kind="stable")


def find_tops(parents: np.ndarray, altitudes: np.ndarray, n_regions: int) -> np.ndarray:
    """Node that stands for each segment when n_regions are left: its highest merged ancestor, or itself; (n,)."""
    if n_regions < 1:
        raise BadInputError(f"n_regions must be at least 1, got {n_regions}; ask for one region or more")
    n_segments = (len(parents) + 1) // 2
    merged = np.zeros(len(parents), bool)
    merged[order_merges(altitudes)[: max(n_segments - n_regions, 0)]] = True
    return climb(np.where(merged[parents], parents, np.arange(len(parents))))[:n_segments]


def climb(steps: np.ndarray) -> np.ndarray:
    """Where each node ends when it follows steps to the end; by doubling, as trees may be as deep as they are large."""
    while True:
        longer = steps[steps]
        if np.array_equal(longer, steps):
            return steps
        steps = longer


def number_by_appearance(values: np.ndarray) -> np.ndarray:
    """Replace values by 0, 1, 2, ... in the order in which they first occur."""
    _, first, inverse = np.unique(values, return_index=True, return_inverse=True)
    ranks = np.empty(len(first), np.int32)
    ranks[np.argsort(first)] = np.arange(len(first), dtype=np.int32)
    return ranks[inverse]


def link_ward(lab: np.ndarray, labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Merge any label map into a tree by Ward's rule on mean colour.

    Parameters
    ----------
    lab
        (h, w, channels) or (frames, h, w, channels) float: colours in Lab, or any other space.
    labels
        (h, w) or (frames, h, w), numbers 0 .. n-1, every segment connected.

    Returns
    -------
    parents, altitudes
        (2 n - 1,) int32 and (2 n - 1,) float32.
    """
    areas = measure_areas(labels)
    if len(areas) == 1:
        return np.zeros(1, np.int32), np.zeros(1, np.float32)
    from segvote.kernels.quick_higra import hg

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
    """Label map of any origin with its Ward tree, merged down to n_segments where it has more.

    Parameters
    ----------
    image
        (h, w, 3) uint8 RGB.
    labels
        (h, w) numbers 0 .. n-1, every segment connected.
    n_segments
        The most segments to keep; None keeps all.
    """
    parents, altitudes = link_ward(convert_to_lab(image), labels)
    return crop_segmentation(labels, parents, altitudes, n_segments or len(parents))


def crop_segmentation(labels: np.ndarray, parents: np.ndarray, altitudes: np.ndarray, n_segments: int) -> Segmentation:
    """Segmentation of at most n_segments from a finer label map (h, w) and its tree."""
    regions, parents, altitudes = crop_tree(parents, altitudes, n_segments)
    return Segmentation(regions[labels], parents, altitudes)
