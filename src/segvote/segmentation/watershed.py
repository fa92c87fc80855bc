"""Watershed basins of a gradient: the watershed cut of the pixel grid (Cousty, Bertrand, Najman, Couprie 2009).

An edge between two pixels weighs the mean of their gradients, so that the lightest edge of a pixel leads to the
neighbour with the lowest gradient. Where that neighbour is the only one, the pixel lies in the basin of the neighbour;
basins are then the connected components of these edges. Where several neighbours are equally low, a pixel may have ways
into two basins: which one it gets is left to higra's cut of the whole image, ten times as slow.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import cv2
import numpy as np

from segvote.kernels.quick_higra import hg
from segvote.segmentation.labels import relabel_connected

__all__ = ["find_basins"]

# Edges along rows and along columns, as bool arrays (h, w - 1) and (h - 1, w).
Edges = tuple[np.ndarray, np.ndarray]


def find_basins(gradient: np.ndarray) -> np.ndarray:
    """Watershed basins of a gradient (h, w) float32: connected regions 0 .. n-1, one for each of its minima."""
    if gradient.size == 1:
        return np.zeros(gradient.shape, np.int32)
    lowest = _find_lowest_neighbour(gradient)
    before = gradient[:, 1:] == lowest[:, :-1], gradient[1:] == lowest[:-1]  # lightest of the pixel before it
    behind = gradient[:, :-1] == lowest[:, 1:], gradient[:-1] == lowest[1:]
    n_basins, basins = _connect(before[0] | behind[0], before[1] | behind[1])
    n_lightest = sum(int(np.count_nonzero(edges)) for edges in (*before, *behind))
    # With one lightest edge for each pixel there is no choice.
    if n_lightest == gradient.size or n_basins == _count_minima(before, behind):
        return basins
    return cut_watershed(gradient)


def _find_lowest_neighbour(gradient: np.ndarray) -> np.ndarray:
    """(h, w) the lowest gradient among the four neighbours of each pixel."""
    framed = cv2.copyMakeBorder(gradient, 1, 1, 1, 1, cv2.BORDER_CONSTANT, value=float("inf"))
    beside = np.minimum(framed[1:-1, :-2], framed[1:-1, 2:])
    return np.minimum(beside, np.minimum(framed[:-2, 1:-1], framed[2:, 1:-1]))


def _connect(across: np.ndarray, down: np.ndarray) -> tuple[int, np.ndarray]:
    """Connected components of pixels by some of the edges: their number, and (h, w) int32 in reading order."""
    height, width = len(across), down.shape[1]
    # A map of pixels and the edges between them, on which OpenCV finds components in two sweeps.
    drawn = np.zeros((2 * height - 1, 2 * width - 1), np.uint8)
    drawn[::2, ::2], drawn[::2, 1::2], drawn[1::2, ::2] = 1, across, down
    n_found, found = cv2.connectedComponents(drawn, connectivity=4, ltype=cv2.CV_32S)
    return n_found - 1, found[::2, ::2] - 1


def _count_minima(before: Edges, behind: Edges) -> int:
    """Plateaus that no pixel leaves by a lightest edge."""
    # Lightest for both of its ends, an edge joins pixels of one plateau; lightest for one of them, it leads down.
    n_plateaus, plateaus = _connect(before[0] & behind[0], before[1] & behind[1])
    leaves = np.zeros(plateaus.shape, bool)
    leaves[:, :-1] |= before[0] & ~behind[0]
    leaves[:, 1:] |= behind[0] & ~before[0]
    leaves[:-1] |= before[1] & ~behind[1]
    leaves[1:] |= behind[1] & ~before[1]
    return n_plateaus - int(np.count_nonzero(np.bincount(plateaus[leaves], minlength=n_plateaus)))


def cut_watershed(gradient: np.ndarray) -> np.ndarray:
    """As `find_basins`, by higra."""
    graph = _build_grid(gradient.shape)  # type: ignore[arg-type]
    weights = hg.weight_graph(graph, gradient, hg.WeightFunction.mean)
    return relabel_connected(hg.labelisation_watershed(graph, weights).reshape(gradient.shape))


@lru_cache(maxsize=2)
def _build_grid(shape: tuple[int, int]) -> Any:
    """Pixels and their four neighbours; of a folder, most images have one of two shapes."""
    return hg.get_4_adjacency_graph(shape)
