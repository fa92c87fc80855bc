"""Merging regions by their colour histograms, the most alike first, compiled.

The cost of merging two regions is the chi-square distance of their histograms times the harmonic size of the two
(Ward's weight), so that small regions go first and large ones only when alike. Import this module where it is used:
numba takes a second.
"""

from __future__ import annotations

import heapq

import numpy as np
from numba import njit

from segvote.segmentation.graph_merging import find_root, may_merge

N_BINS = 20  # per channel
# Lab values of the first and the last bin's centre; colours beyond are rare and count as the last.
LOWEST = np.array([0.0, -60.0, -60.0])
HIGHEST = np.array([100.0, 60.0, 60.0])


@njit(cache=True, nogil=True)
def fill_histograms(lab: np.ndarray, labels: np.ndarray, n_regions: int) -> np.ndarray:
    """(n_regions, 3 * N_BINS) Lab histograms of the regions `labels` (n,) of pixels `lab` (n, 3).

    A colour between two bins counts in both by its nearness.
    """
    histograms = np.zeros((n_regions, 3 * N_BINS), np.float32)
    for node in range(len(labels)):
        for channel in range(3):
            place = (lab[node, channel] - LOWEST[channel]) / (HIGHEST[channel] - LOWEST[channel]) * (N_BINS - 1)
            place = min(max(place, 0.0), N_BINS - 1.0)
            low = min(int(place), N_BINS - 2)
            share = place - low
            histograms[labels[node], channel * N_BINS + low] += 1 - share
            histograms[labels[node], channel * N_BINS + low + 1] += share
    return histograms


@njit(cache=True, nogil=True)
def measure_chi_square(histograms: np.ndarray, sizes: np.ndarray, a: int, b: int) -> float:
    """Chi-square distance of two regions' normalised histograms, mean over channels: 0 equal, 1 nothing in common."""
    total = 0.0
    for index in range(histograms.shape[1]):
        p, q = histograms[a, index] / sizes[a], histograms[b, index] / sizes[b]
        if p + q > 0:
            total += (p - q) * (p - q) / (p + q)
    return total / 6.0


@njit(cache=True, nogil=True)
def measure_cost(histograms: np.ndarray, sizes: np.ndarray, a: int, b: int) -> float:
    """Chi-square distance times the harmonic size of two regions."""
    # The same number whichever comes first, to the last bit: `merge_regions` recognises a stale cost by it.
    return measure_chi_square(histograms, sizes, a, b) * (sizes[a] * sizes[b] / (sizes[a] + sizes[b]))


@njit(cache=True, nogil=True)
def count_bits(mask: int) -> int:
    """Number of ones."""
    n = 0
    while mask:
        mask &= mask - 1
        n += 1
    return n


@njit(cache=True, nogil=True)
def merge_regions(
    pairs: np.ndarray,
    histograms: np.ndarray,
    sizes: np.ndarray,
    frames: np.ndarray,
    frozen: np.ndarray,
    n_wanted: int,
    cost_limit: float,
) -> tuple[np.ndarray, float]:
    """Merge neighbouring regions, the cheapest pair first.

    Parameters
    ----------
    pairs
        (m, 2) int32 neighbours, each pair once.
    histograms, sizes
        (n, bins) float32 counts and (n,) float64 pixels; used up.
    frames
        (n,) int64: bit t is set where the region is seen in frame t; used up.
    frozen
        (n,) int32 number of the final region it belongs to already, or -1; used up. Different numbers never merge.
    n_wanted
        Stop when this many (region, frame) pairs are left and the limit is reached.
    cost_limit
        Go on while the cheapest merge costs at most this.

    Returns
    -------
    roots
        (n,) int32: representative of each region.
    cost
        Of the dearest merge that was made.
    """
    parents = np.arange(len(sizes)).astype(np.int32)
    n_left = 0
    for region in range(len(sizes)):
        n_left += count_bits(frames[region])
    n_left -= join_frozen_regions(parents, histograms, sizes, frames, frozen)
    heads, following = list_half_edges(pairs, len(sizes), parents)
    marks = np.full(len(sizes), -1, np.int64)
    heap = list_costs(pairs, parents, histograms, sizes, frozen)
    dearest, n_merges = 0.0, 0
    while len(heap) > 0:
        cost, edge = heapq.heappop(heap)
        a, b = find_root(parents, pairs[edge, 0]), find_root(parents, pairs[edge, 1])
        if a == b or not may_merge(frozen, a, b) or cost != measure_cost(histograms, sizes, a, b):
            continue  # an end has grown since: its new cost is in the heap too
        if n_left <= n_wanted and cost > cost_limit:
            break
        n_left -= absorb(parents, histograms, sizes, frames, frozen, a, b)
        dearest = max(dearest, cost)
        heads[a] = chain(heads, following, a, b)
        refresh_edges(pairs, parents, histograms, sizes, frozen, heads, following, marks, heap, a, n_merges)
        n_merges += 1
    for region in range(len(parents)):
        parents[region] = find_root(parents, region)
    return parents, dearest


@njit(cache=True, nogil=True)
def list_costs(
    pairs: np.ndarray, parents: np.ndarray, histograms: np.ndarray, sizes: np.ndarray, frozen: np.ndarray
) -> list[tuple[float, int]]:
    """Heap of the costs of all merges that are allowed, each with the number of its pair."""
    heap = [(0.0, 0) for _ in range(0)]
    for edge in range(len(pairs)):
        a, b = find_root(parents, pairs[edge, 0]), find_root(parents, pairs[edge, 1])
        if a != b and may_merge(frozen, a, b):
            heap.append((measure_cost(histograms, sizes, a, b), edge))
    heapq.heapify(heap)
    return heap


@njit(cache=True, nogil=True)
def absorb(
    parents: np.ndarray,
    histograms: np.ndarray,
    sizes: np.ndarray,
    frames: np.ndarray,
    frozen: np.ndarray,
    a: int,
    b: int,
) -> int:
    """Make b a part of a; returns by how much the number of (region, frame) pairs falls."""
    parents[b] = a
    histograms[a] += histograms[b]
    sizes[a] += sizes[b]
    shared = count_bits(frames[a] & frames[b])
    frames[a] |= frames[b]
    if frozen[a] < 0:
        frozen[a] = frozen[b]
    return shared


@njit(cache=True, nogil=True)
def join_frozen_regions(
    parents: np.ndarray, histograms: np.ndarray, sizes: np.ndarray, frames: np.ndarray, frozen: np.ndarray
) -> int:
    """Make one region of all that share a frozen number; returns by how much the (region, frame) pairs fall."""
    seats = np.full(frozen.max() + 1, -1, np.int32)
    n_fewer = 0
    for region in range(len(frozen)):
        number = frozen[region]
        if number < 0:
            continue
        if seats[number] < 0:
            seats[number] = region
        else:
            n_fewer += absorb(parents, histograms, sizes, frames, frozen, seats[number], region)
    return n_fewer


@njit(cache=True, nogil=True)
def list_half_edges(pairs: np.ndarray, n_regions: int, parents: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Linked lists of the edges at each region: first half-edge of a region, and the one after each half-edge.

    Half-edge 2 e starts at the first end of edge e, 2 e + 1 at the second; -1 ends a list.
    """
    heads = np.full(n_regions, -1, np.int64)
    following = np.full(2 * len(pairs), -1, np.int64)
    for edge in range(len(pairs) - 1, -1, -1):
        for side in range(2):
            region = find_root(parents, pairs[edge, side])
            following[2 * edge + side] = heads[region]
            heads[region] = 2 * edge + side
    return heads, following


@njit(cache=True, nogil=True)
def chain(heads: np.ndarray, following: np.ndarray, a: int, b: int) -> int:
    """Put the shorter walk in front: the list of b, then that of a."""
    if heads[b] < 0:
        return heads[a]
    last = heads[b]
    while following[last] >= 0:
        last = following[last]
    following[last] = heads[a]
    return heads[b]


@njit(cache=True, nogil=True)
def refresh_edges(
    pairs: np.ndarray,
    parents: np.ndarray,
    histograms: np.ndarray,
    sizes: np.ndarray,
    frozen: np.ndarray,
    heads: np.ndarray,
    following: np.ndarray,
    marks: np.ndarray,
    heap: list[tuple[float, int]],
    a: int,
    stamp: int,
) -> None:
    """Measure the costs around a region that has grown, dropping edges that became double or inner."""
    before, half = -1, heads[a]
    while half >= 0:
        edge = half // 2
        after = following[half]
        other = find_root(parents, pairs[edge, 1 - half % 2])
        if other == a or marks[other] == stamp:
            if before < 0:
                heads[a] = after
            else:
                following[before] = after
        else:
            marks[other] = stamp
            before = half
            if may_merge(frozen, a, other):
                heapq.heappush(heap, (measure_cost(histograms, sizes, a, other), edge))
        half = after
