"""Masks finer than segments: the heat of the vote, redrawn along the edges of the picture.

Each superpixel takes the heat of the segments it lies in; a minimum cut labels all of them at once, at a cost for
neighbours with different labels and no edge between them. The colours of the image are evidence too, but only as far as
they agree with the vote about this very image: where the object has the colours of its surroundings they would mislead.
"""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import breadth_first_order, maximum_flow

from segvote.numerics.auc import measure_auc

# Weight of a boundary without an edge, against the heat of a superpixel of mean area.
SMOOTHNESS = 2.0
# Lab distance at which a colour difference counts as an edge, and at which two colours count as alike.
EDGE_WIDTH = 6.0
COLOUR_WIDTH = 8.0
# Colours count from the first rank agreement (AUC) with the vote on, and fully from the second.
AGREEMENT = (0.92, 0.98)
# Neither heat nor colour may outvote everything else.
LEAST_HEAT = 0.02
MOST_COLOUR = 2.0
# Maximum flow counts in whole numbers.
UNITS = 1000.0
# Rows of the table of all pairs of superpixels that are computed at once: few enough for the cache, and enough that
# threads do not wait for each other between them.
N_ROWS = 256


@dataclass(frozen=True)
class Superpixels:
    """Superpixels of one image."""

    labels: np.ndarray  # (h, w) superpixel of each pixel, at working size
    areas: np.ndarray  # (n,) pixels
    colours: np.ndarray  # (n, 3) mean Lab
    edges: np.ndarray  # (m, 2) neighbouring superpixels, each pair once
    lengths: np.ndarray  # (m,) pixels of shared boundary
    segments: np.ndarray  # (n,) the segment most of the superpixel lies in


def sharpen(superpixels: Superpixels, heat: np.ndarray) -> np.ndarray:
    """(n,) bool: which superpixels are object, by heat in [0, 1], one half where the decision of the segments changes.

    The decision by heat alone where the cut would leave nothing.
    """
    areas, clipped = superpixels.areas / superpixels.areas.mean(), np.clip(heat, LEAST_HEAT, 1 - LEAST_HEAT)
    evidence = np.log(clipped / (1 - clipped)) + weigh_colours(superpixels, heat)
    selected = cut_graph(areas * evidence, superpixels.edges, weigh_boundaries(superpixels))
    return selected if selected.any() else heat > 0.5


def weigh_boundaries(superpixels: Superpixels) -> np.ndarray:
    """(m,) cost of different labels of two neighbouring superpixels."""
    gap = superpixels.colours[superpixels.edges[:, 0]] - superpixels.colours[superpixels.edges[:, 1]]
    alike = np.exp(-(gap**2).sum(axis=1) / (2 * EDGE_WIDTH**2))
    return SMOOTHNESS * superpixels.lengths * alike / np.sqrt(superpixels.areas.mean())


def weigh_colours(superpixels: Superpixels, heat: np.ndarray) -> np.ndarray:
    """(n,) evidence of colour: how much more often warm superpixels of other segments have it than cold ones."""
    is_warm = heat > 0.5
    if is_warm.all() or not is_warm.any():
        return np.zeros(len(heat))
    masses = np.column_stack([superpixels.areas * heat, superpixels.areas * (1 - heat)])
    shares = sum_alike(superpixels.colours, superpixels.segments, masses / masses.sum(axis=0)) + 1e-7
    ratio = np.clip(np.log(shares[:, 0] / shares[:, 1]), -MOST_COLOUR, MOST_COLOUR)
    low, high = AGREEMENT
    trust = np.clip((measure_auc(ratio, is_warm) - low) / (high - low), 0, 1)
    return trust * ratio


def sum_alike(colours: np.ndarray, segments: np.ndarray, masses: np.ndarray) -> np.ndarray:
    """(n, 2) masses (n, 2) of the superpixels of each one's colour, those of its own segment left out."""
    order = np.argsort(segments, kind="stable")
    segments, masses = segments[order], masses[order].astype(np.float32)
    left, right = _prepare_gaps(colours[order])
    sums = np.zeros(masses.shape)
    # All pairs are the longest computation of a mask: in single precision, each pair once, a few rows at a time, which
    # stay in the processor's cache.
    for start, end in _cut_between(segments):
        alike = left[start:end] @ right[:, start:]
        cv2.exp(alike, alike)  # in half the time of numpy's
        alike[:, : end - start][segments[start:end, None] == segments[start:end]] = 0
        sums[start:end] += alike @ masses[start:]
        sums[end:] += alike[:, end - start :].T @ masses[start:end]
    return sums[np.argsort(order)]


def _prepare_gaps(colours: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(n, 5) and (5, n) whose product is minus half the squared distance of all pairs, in units of `COLOUR_WIDTH`."""
    scaled = (colours / (np.sqrt(2) * COLOUR_WIDTH)).astype(np.float32)
    # Small numbers lose less when their squares are taken from each other.
    scaled -= scaled.mean(axis=0)
    norms, ones = (scaled**2).sum(axis=1), np.ones(len(scaled), dtype=np.float32)
    return np.column_stack([scaled, norms, ones]), np.vstack([2 * scaled.T, -ones, -norms])


def _cut_between(segments: np.ndarray) -> list[tuple[int, int]]:
    """Start and end of blocks of about `N_ROWS` superpixels, each of whole segments; `segments` ascend."""
    ends = np.append(np.flatnonzero(np.diff(segments)) + 1, len(segments))
    # The last segment end in each stretch of rows.
    ends = ends[np.append(np.diff(ends // N_ROWS) > 0, True)]
    return list(zip([0, *ends[:-1].tolist()], ends.tolist(), strict=True))


def cut_graph(evidence: np.ndarray, edges: np.ndarray, costs: np.ndarray) -> np.ndarray:
    """(n,) bool, the labels of least cost by minimum cut.

    Evidence (n,) above 0 for object is paid where it is not followed, costs (m,) where the ends of an edge (m, 2)
    differ.
    """
    n = len(evidence)
    superpixels, source, sink = np.arange(n), np.full(n, n), np.full(n, n + 1)
    rows = np.concatenate([edges[:, 0], edges[:, 1], source, superpixels])
    columns = np.concatenate([edges[:, 1], edges[:, 0], superpixels, sink])
    capacities = np.concatenate([costs, costs, np.maximum(evidence, 0), np.maximum(-evidence, 0)])
    whole = np.minimum(np.round(UNITS * capacities), 2**30).astype(np.int32)
    graph = sparse.csr_matrix((whole, (rows, columns)), shape=(n + 2, n + 2))
    rest = graph - maximum_flow(graph, n, n + 1).flow
    rest.data[rest.data < 0] = 0
    rest.eliminate_zeros()
    reached = np.zeros(n + 2, dtype=bool)
    reached[breadth_first_order(rest, n, return_predecessors=False)] = True
    return reached[:n]
