"""Felzenszwalb and Huttenlocher's merging (2004) of the nodes of any graph, compiled.

Import this module where it is used: numba takes a second.
"""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def find_root(parents: np.ndarray, node: int) -> int:
    """Representative of a node's component; paths are halved on the way."""
    while parents[node] != node:
        parents[node] = parents[parents[node]]
        node = parents[node]
    return node


@njit(cache=True, nogil=True)
def join(parents: np.ndarray, sizes: np.ndarray, frozen: np.ndarray, a: int, b: int) -> int:
    """Unite two components; the larger one's representative stays, the smaller number at a tie."""
    if sizes[a] < sizes[b] or (sizes[a] == sizes[b] and b < a):
        a, b = b, a
    parents[b] = a
    sizes[a] += sizes[b]
    frozen[a] = max(frozen[a], frozen[b])
    return a


@njit(cache=True, nogil=True)
def merge_nodes(
    edges: np.ndarray, weights: np.ndarray, sizes: np.ndarray, frozen: np.ndarray, scale: float, min_size: float
) -> np.ndarray:
    """Components of a graph: edges join them, the lightest first.

    Two components merge when the edge weighs no more than the heaviest edge inside of either, plus `scale` over its
    size.

    Parameters
    ----------
    edges, weights
        (2, m) int32 nodes and (m,) weights, ascending.
    sizes, frozen
        (n,) float64 pixels of a node; (n,) int32 number of the component it belongs to already, or -1. Nodes of one
        number are one component from the start, those of different numbers never are. Both are used up.
    scale, min_size
        Felzenszwalb's k, in weight times pixels; components with fewer pixels are joined to the neighbour of least
        weight, where freezing allows it.

    Returns
    -------
    (n,) int32: the representative node of each node's component.
    """
    parents = np.arange(len(frozen)).astype(np.int32)
    inside = np.zeros(len(frozen), np.float64)
    seats = np.full(frozen.max() + 1, -1, np.int32)
    for node in range(len(frozen)):
        number = frozen[node]
        if number >= 0:
            seats[number] = node if seats[number] < 0 else join(parents, sizes, frozen, seats[number], node)
    for is_last in (False, True):
        for k in range(len(weights)):
            a, b = find_root(parents, edges[0, k]), find_root(parents, edges[1, k])
            if a == b or (frozen[a] >= 0 and frozen[b] >= 0):
                continue
            if is_last:
                is_joined = min(sizes[a], sizes[b]) < min_size
            else:
                is_joined = weights[k] <= min(inside[a] + scale / sizes[a], inside[b] + scale / sizes[b])
            if is_joined:
                inside[join(parents, sizes, frozen, a, b)] = weights[k]
    for node in range(len(parents)):
        parents[node] = find_root(parents, node)
    return parents
