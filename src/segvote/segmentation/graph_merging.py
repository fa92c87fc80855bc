"""Felzenszwalb and Huttenlocher's merging (2004) on the space-time graph of a few frames, compiled.

Pixels are joined to their right and lower neighbours, diagonals included, and to the place in the frame before where
the optical flow says they were. Edges are taken in the order of contrast; two components merge when the edge is no
stronger than what either holds inside, plus `scale` over its size. Pixels may carry a *frozen* number: two components
with different frozen numbers never merge. Import this module where it is used: numba takes a second.
"""

from __future__ import annotations

import numpy as np
from numba import njit

# Contrast in Lab units is counted in hundredths, so that edges are sorted by counting.
STEPS_PER_UNIT = 100
N_STEPS = 1 << 15
OFFSETS = np.array([[0, 1], [1, 0], [1, 1], [1, -1]], np.int64)


@njit(cache=True, nogil=True)
def measure_step(lab: np.ndarray, t: int, y: int, x: int, s: int, v: int, u: int) -> int:
    """Contrast of two pixels in hundredths of a Lab unit."""
    total = 0.0
    for channel in range(lab.shape[3]):
        gap = lab[t, y, x, channel] - lab[s, v, u, channel]
        total += gap * gap
    return min(int(np.sqrt(total) * STEPS_PER_UNIT), N_STEPS - 1)


@njit(cache=True, nogil=True)
def link_pixels(lab: np.ndarray, flow: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Edges of the space-time graph: (m,) int32 first and second pixel, in reading order, and contrast in hundredths.

    `lab` is (frames, h, w, channels) float32, `flow` (frames, h, w, 2) the displacement to the frame before, not looked
    at in the first frame.
    """
    n_frames, height, width = lab.shape[:3]
    n_most = n_frames * height * width * 5
    first, second, weights = np.empty(n_most, np.int32), np.empty(n_most, np.int32), np.empty(n_most, np.int32)
    n = 0
    for t in range(n_frames):
        for y in range(height):
            for x in range(width):
                pixel = (t * height + y) * width + x
                for k in range(4):
                    v, u = y + OFFSETS[k, 0], x + OFFSETS[k, 1]
                    if v < height and 0 <= u < width:
                        first[n], second[n] = pixel, (t * height + v) * width + u
                        weights[n] = measure_step(lab, t, y, x, t, v, u)
                        n += 1
                if t > 0:
                    u, v = int(np.rint(x + flow[t, y, x, 0])), int(np.rint(y + flow[t, y, x, 1]))
                    if 0 <= v < height and 0 <= u < width:
                        first[n], second[n] = ((t - 1) * height + v) * width + u, pixel
                        weights[n] = measure_step(lab, t, y, x, t - 1, v, u)
                        n += 1
    return first[:n], second[:n], weights[:n]


@njit(cache=True, nogil=True)
def order_by_weight(weights: np.ndarray) -> np.ndarray:
    """Stable order of (m,) int32 weights below N_STEPS, by counting."""
    starts = np.zeros(N_STEPS + 1, np.int64)
    for weight in weights:
        starts[weight + 1] += 1
    starts = np.cumsum(starts)
    order = np.empty(len(weights), np.int32)
    for index in range(len(weights)):
        weight = weights[index]
        order[starts[weight]] = index
        starts[weight] += 1
    return order


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
    if frozen[a] < 0:
        frozen[a] = frozen[b]
    return a


@njit(cache=True, nogil=True)
def may_merge(frozen: np.ndarray, a: int, b: int) -> bool:
    """Whether freezing lets two components merge."""
    return frozen[a] < 0 or frozen[b] < 0 or frozen[a] == frozen[b]


@njit(cache=True, nogil=True)
def merge_pixels(
    first: np.ndarray,
    second: np.ndarray,
    weights: np.ndarray,
    order: np.ndarray,
    frozen: np.ndarray,
    scale: float,
    min_size: int,
) -> np.ndarray:
    """Components of the graph.

    Parameters
    ----------
    first, second, weights
        (m,) edges, of `link_pixels`.
    order
        (m,) of `order_by_weight`.
    frozen
        (n,) int32: number of the component a pixel belongs to already, or -1; pixels of one number are one component
        from the start. It is used up.
    scale
        Felzenszwalb's k, in hundredths of a Lab unit times pixels.
    min_size
        Components with fewer pixels are joined to the neighbour of least contrast, where freezing allows it.

    Returns
    -------
    (n,) int32: the number of the representative pixel of each pixel's component.
    """
    n_nodes = len(frozen)
    parents = np.arange(n_nodes).astype(np.int32)
    sizes = np.ones(n_nodes, np.int32)
    inside = np.zeros(n_nodes, np.float32)
    join_frozen(parents, sizes, frozen)
    for index in order:
        a, b = find_root(parents, first[index]), find_root(parents, second[index])
        weight = weights[index]
        if (
            a != b
            and may_merge(frozen, a, b)
            and weight <= min(inside[a] + scale / sizes[a], inside[b] + scale / sizes[b])
        ):
            inside[join(parents, sizes, frozen, a, b)] = weight
    for index in order:
        a, b = find_root(parents, first[index]), find_root(parents, second[index])
        if a != b and min(sizes[a], sizes[b]) < min_size and may_merge(frozen, a, b):
            join(parents, sizes, frozen, a, b)
    for node in range(n_nodes):
        parents[node] = find_root(parents, node)
    return parents


@njit(cache=True, nogil=True)
def join_frozen(parents: np.ndarray, sizes: np.ndarray, frozen: np.ndarray) -> None:
    """Make one component of all nodes of each frozen number."""
    seats = np.full(frozen.max() + 1, -1, np.int32)
    for node in range(len(frozen)):
        number = frozen[node]
        if number < 0:
            continue
        if seats[number] < 0:
            seats[number] = node
        else:
            a, b = find_root(parents, seats[number]), find_root(parents, node)
            join(parents, sizes, frozen, a, b)


@njit(cache=True, nogil=True)
def number_regions(roots: np.ndarray) -> tuple[np.ndarray, int]:
    """Numbers 0, 1, 2, ... in reading order instead of representatives; (n,) int32 and how many there are."""
    numbers = np.full(len(roots), -1, np.int32)
    labels = np.empty(len(roots), np.int32)
    n_regions = 0
    for node in range(len(roots)):
        if numbers[roots[node]] < 0:
            numbers[roots[node]] = n_regions
            n_regions += 1
        labels[node] = numbers[roots[node]]
    return labels, n_regions


@njit(cache=True, nogil=True)
def list_region_pairs(labels: np.ndarray, first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Keys ``low << 32 | high`` of the regions at the two ends of every edge between regions, repeats included."""
    keys = np.empty(len(first), np.int64)
    n = 0
    for index in range(len(first)):
        a, b = labels[first[index]], labels[second[index]]
        if a != b:
            keys[n] = (np.int64(min(a, b)) << 32) | max(a, b)
            n += 1
    return keys[:n]
