"""Felzenszwalb and Huttenlocher's merging (2004) of the nodes of any graph.

The loop over edges is plain Python: nodes are regions of some dozen pixels, a hundred thousand edges take a quarter of
a second.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np


def merge_nodes(
    edges: np.ndarray, weights: np.ndarray, sizes: np.ndarray, frozen: np.ndarray, scale: float, min_size: float
) -> np.ndarray:
    """Components of a graph: edges join them, the lightest first.

    Two components merge when the edge weighs no more than the heaviest edge inside of either, plus `scale` over its
    size. Then components below `min_size` join the neighbour of least weight.

    Parameters
    ----------
    edges : (2, m) int
        Pairs of nodes.
    weights : (m,) float
        Their dissimilarities, in any order.
    sizes : (n,) float
        Pixels of each node.
    frozen : (n,) int
        Number of the component that a node belongs to already, or -1. Nodes of one number are one component from the
        start, those of different numbers never are.
    scale, min_size : float
        Felzenszwalb's k, in weight times pixels; fewest pixels of a component, where freezing allows it.

    Returns
    -------
    (n,) int
        The representative node of each node's component.
    """
    forest = _Forest(list(range(len(sizes))), sizes.tolist(), frozen.tolist(), [0.0] * len(sizes))
    forest.join_frozen()
    order = np.argsort(weights, kind="stable")
    pairs = edges[:, order].T.tolist(), weights[order].tolist()
    forest.join_similar(*pairs, scale)
    forest.join_small(*pairs, min_size)
    return np.array([forest.find(node) for node in range(len(sizes))], dtype=np.int64)


@dataclass
class _Forest:
    """Components as trees of nodes; sizes, numbers and heaviest inner edges are those of the roots."""

    parents: list[int]
    sizes: list[float]
    frozen: list[int]
    inside: list[float]

    def find(self, node: int) -> int:
        """Root of a node's component; paths are halved on the way."""
        parents = self.parents
        while parents[node] != node:
            parents[node] = parents[parents[node]]
            node = parents[node]
        return node

    def join(self, a: int, b: int, weight: float) -> None:
        """Unite two components; the larger one's root stays, the smaller number at a tie."""
        sizes = self.sizes
        if sizes[a] < sizes[b] or (sizes[a] == sizes[b] and b < a):
            a, b = b, a
        self.parents[b] = a
        sizes[a] += sizes[b]
        self.frozen[a] = max(self.frozen[a], self.frozen[b])
        self.inside[a] = weight

    def join_frozen(self) -> None:
        first: dict[int, int] = {}
        for node, number in enumerate(self.frozen):
            if number >= 0 and (other := first.setdefault(number, node)) != node:
                self.join(self.find(other), node, 0.0)

    def join_similar(self, edges: Sequence[tuple[int, int]], weights: Sequence[float], scale: float) -> None:
        find, frozen, inside, sizes = self.find, self.frozen, self.inside, self.sizes
        for (first, second), weight in zip(edges, weights, strict=True):
            a, b = find(first), find(second)
            if (
                a != b
                and (frozen[a] < 0 or frozen[b] < 0)
                and weight <= inside[a] + scale / sizes[a]
                and weight <= inside[b] + scale / sizes[b]
            ):
                self.join(a, b, weight)

    def join_small(self, edges: Sequence[tuple[int, int]], weights: Sequence[float], min_size: float) -> None:
        find, frozen, sizes = self.find, self.frozen, self.sizes
        for (first, second), weight in zip(edges, weights, strict=True):
            a, b = find(first), find(second)
            if a != b and (frozen[a] < 0 or frozen[b] < 0) and min(sizes[a], sizes[b]) < min_size:
                self.join(a, b, weight)
