"""Published ultrametric contour maps (``ucm2``) as segmentations: the authors' own gPb-owt-ucm, used as it is."""

from __future__ import annotations

import numpy as np

from segvote.errors import BadInputError
from segvote.numerics.pixels import resize_labels
from segvote.numerics.quick_higra import hg
from segvote.segmentation.hierarchy import crop_segmentation
from segvote.segmentation.labels import relabel_connected
from segvote.types import Segmentation


def segment_ucm(ucm2: np.ndarray, n_segments: int | None = 200, shape: tuple[int, int] | None = None) -> Segmentation:
    """Cut an ultrametric contour map into n_segments regions.

    Parameters
    ----------
    ucm2 : (2 h + 1, 2 w + 1) float
        Of an (h, w) image: pixels lie at odd rows and columns, between two of them is the strength at which they merge.
    n_segments : int or None
        The most segments; None keeps all regions of the map.
    shape : (int, int), optional
        Height and width wanted, where the image is segmented at another size than the map's: each pixel then lies in
        the region under its centre. A map of other proportions is an error.

    Returns
    -------
    Segmentation of the (h, w) image; altitudes are the map's strengths.
    """
    ucm2 = np.asarray(ucm2, np.float64)
    if ucm2.ndim != 2 or min(ucm2.shape) < 3 or not all(size % 2 for size in ucm2.shape):
        raise BadInputError(
            f"a ucm2 map is (2 h + 1, 2 w + 1), both odd, got shape {ucm2.shape}; give the array named ucm2, not ucm"
        )
    height, width = ucm2.shape[0] // 2, ucm2.shape[1] // 2
    graph = hg.get_4_adjacency_graph((height, width))
    first, second = graph.edge_list()
    strengths = ucm2[first // width + second // width + 1, first % width + second % width + 1]
    labels, parents, altitudes = _merge_regions(graph, strengths, (height, width))
    if shape is not None and tuple(shape) != (height, width):
        _check_proportions((height, width), shape)
        labels, parents, altitudes = _resize_regions(labels, parents, altitudes, shape)
    return crop_segmentation(labels, parents, altitudes, n_segments or len(parents))


def _merge_regions(
    graph: hg.UndirectedGraph, strengths: np.ndarray, shape: tuple[int, int]
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Regions of zero strength, (h, w) int32, and parents and altitudes of their tree, the weakest merged first."""
    labels = np.zeros(shape, np.int32)
    if strengths.any():
        labels = relabel_connected(hg.graph_cut_2_labelisation(graph, strengths).reshape(shape))
    if labels.max() == 0:
        return labels, np.zeros(1, np.int32), np.zeros(1, np.float32)
    regions = hg.make_region_adjacency_graph_from_labelisation(graph, labels)
    weakest = hg.rag_accumulate_on_edges(regions, hg.Accumulators.min, strengths)
    tree, altitudes = hg.bpt_canonical(regions, weakest)
    return labels, tree.parents().astype(np.int32), altitudes.astype(np.float32)


def _resize_regions(
    labels: np.ndarray, parents: np.ndarray, altitudes: np.ndarray, shape: tuple[int, int]
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Regions and tree on a grid of another size: neighbouring pixels merge where their regions did."""
    regions = resize_labels(labels, shape).ravel()
    graph = hg.get_4_adjacency_graph(shape)
    first, second = (regions[ends].astype(np.int64) for ends in graph.edge_list())
    if len(parents) == 1:
        return _merge_regions(graph, np.zeros(len(first)), shape)
    meeting = hg.Tree(parents.astype(np.int64)).lowest_common_ancestor(first, second)
    return _merge_regions(graph, np.where(first == second, 0.0, altitudes[meeting]), shape)


def _check_proportions(own_shape: tuple[int, int], shape: tuple[int, int]) -> None:
    """Raise for a map that cannot be of this image; rounding of sides is tolerated."""
    stretch = [new / old for new, old in zip(shape, own_shape, strict=True)]
    slack = max(1.02, *(1 + 1.5 / side for side in (*shape, *own_shape)))
    if max(stretch) > slack * min(stretch):
        raise BadInputError(
            f"a ucm2 map of {own_shape[0]} x {own_shape[1]} pixels (height x width) cannot be of an image shown at "
            f"{shape[0]} x {shape[1]}; give the map of this image, not turned"
        )
