"""Merging basins over their weakest boundary, small ones sooner.

A boundary is as strong as the mean of its arcs by length; the smaller of the two regions lowers it. Because a region's
size changes as it grows, the order cannot be had from a tree built without sizes: specks of high contrast would outlive
whole objects. (On 100 BSDS photographs the achievable accuracy at 100 segments was .90 without sizes, .94 with them.)
"""

from __future__ import annotations

import heapq
from math import log

import numpy as np

from segvote.segmentation.arcs import Arcs

__all__ = ["link_boundaries"]

COMMON_PART = 50  # a region of a fiftieth of the image is neither small nor large


def link_boundaries(
    arcs: Arcs, strengths: np.ndarray, areas: np.ndarray, size_prior: float
) -> tuple[np.ndarray, np.ndarray]:
    """Merge the two regions with the weakest boundary until one is left: parents and altitudes (2 n - 1,) in 0 .. 1.

    `strengths` (n_arcs,) are log-odds of a boundary, `areas` (n,) pixels; `size_prior` is how much the log-odds fall
    when the smaller of two regions is e times smaller.
    """
    forest = Forest(arcs, strengths, areas, size_prior)
    while forest.queue:
        forest.merge_weakest()
    odds = np.array(forest.odds)
    altitudes = np.where(np.arange(len(odds)) < len(areas), 0, 1 / (1 + np.exp(-odds)))
    return np.array(forest.parents, np.int32), raise_parents(forest.parents, altitudes).astype(np.float32)


def raise_parents(parents: list[int], altitudes: np.ndarray) -> np.ndarray:
    """Lift each altitude to the highest below it: children come before parents, so one pass does it."""
    raised = altitudes.tolist()
    for child, parent in enumerate(parents):
        raised[parent] = max(raised[parent], raised[child])
    return np.array(raised)


class Forest:
    """Regions that are left, what lies between them, and the queue of merges by strength."""

    def __init__(self, arcs: Arcs, strengths: np.ndarray, areas: np.ndarray, size_prior: float) -> None:
        self.size_prior = size_prior
        self.parts = (areas * (COMMON_PART / areas.sum())).tolist()
        self.parents = list(range(len(areas)))
        self.odds = [0.0] * len(areas)
        # For each region its neighbours, with the length of the boundary and the sum of the strengths along it.
        self.between: list[dict[int, tuple[float, float]]] = [{} for _ in self.parts]
        for (i, j), length, strength in zip(
            arcs.pairs.tolist(), arcs.lengths.tolist(), strengths.tolist(), strict=True
        ):
            self.between[i][j] = self.between[j][i] = (length, length * strength)
        self.queue = [(self.weigh(i, j), i, j) for i, j in arcs.pairs.tolist()]
        heapq.heapify(self.queue)

    def weigh(self, i: int, j: int) -> float:
        """Log-odds that the two regions should stay apart."""
        length, total = self.between[i][j]
        return total / length + self.size_prior * log(min(self.parts[i], self.parts[j]))

    def merge_weakest(self) -> None:
        """Merge the pair at the head of the queue, unless one of them has been merged since it was put there."""
        odds, i, j = heapq.heappop(self.queue)
        if self.parents[i] != i or self.parents[j] != j:
            return
        region = len(self.parents)
        self.parents[i] = self.parents[j] = region
        self.parents.append(region)
        self.odds.append(odds)
        self.parts.append(self.parts[i] + self.parts[j])
        self.between.append(self.join_neighbours(i, j))
        for other, boundary in self.between[region].items():
            self.between[other][region] = boundary
            heapq.heappush(self.queue, (self.weigh(other, region), other, region))

    def join_neighbours(self, i: int, j: int) -> dict[int, tuple[float, float]]:
        """Neighbours of the union of two regions, which they forget."""
        joined: dict[int, tuple[float, float]] = {}
        for part in (i, j):
            for other, (length, total) in self.between[part].items():
                if other not in (i, j):
                    del self.between[other][part]
                    known = joined.get(other, (0.0, 0.0))
                    joined[other] = (known[0] + length, known[1] + total)
        self.between[i] = self.between[j] = {}
        return joined
