"""Background priors of segments, by their place in the image.

*Border*: segments on the border of a photograph are more often background. *Boundary connectivity* (Zhu, Liang, Wei,
Sun, "Saliency optimization from robust background detection", 2014): so are segments that are reached from the border
without crossing an edge; an object that the border cuts off is not.
"""

from __future__ import annotations

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import dijkstra

from segvote.method.table import SegmentTable

# Lab contrasts up to this one count as noise.
FREE_CONTRAST = 3.0
# Geodesic colour distance at which two segments count as apart.
APART = 10.0
# Longer paths need not be followed to their end: exp(-60^2 / (2 10^2)) is 1.5e-8.
FARTHEST = 6 * APART


def measure_border_prior(border: np.ndarray, factor: float) -> np.ndarray:
    """`factor`, in (0, 1], for segments whose length (n_segments,) on the image border is above 0, and 1 elsewhere.

    Without it a scene that all *with* images share, and no *without* image shows, wins over the object in it.
    """
    return np.where(border > 0, factor, 1.0)


def measure_connectivity(table: SegmentTable) -> np.ndarray:
    """(n_segments,) connection of each segment to the image border, in [0, 1); 0 where colours are unknown.

    With S_ij = exp(-d_ij^2 / (2 10^2)) for the geodesic colour distance d, the border length sum_j S_ij border_j of a
    segment's neighbourhood over the square root of its area sum_j S_ij area_j is b_i, and B_i = 1 - exp(-b_i^2 / 2).
    """
    connectivity = np.zeros(len(table))
    edge_images = table.images[table.edges[:, 0]]
    unknown = np.bincount(edge_images, np.isnan(table.contrasts), minlength=table.n_images) > 0
    first = np.searchsorted(edge_images, np.arange(table.n_images + 1))
    for image in map(int, np.flatnonzero(~unknown)):
        part, own = table.get_slice(image), slice(first[image], first[image + 1])
        affinity = _measure_affinity(table.edges[own] - part.start, table.contrasts[own], part.stop - part.start)
        lengths = (affinity @ table.border[part]) / np.sqrt(affinity @ table.areas[part])
        connectivity[part] = 1 - np.exp(-(lengths**2) / 2)
    return connectivity


def _measure_affinity(edges: np.ndarray, contrasts: np.ndarray, n_segments: int) -> np.ndarray:
    """(n_segments, n_segments) exp(-d^2 / (2 10^2)) for the geodesic distance d between two segments of one image."""
    # A step that costs nothing is no edge to scipy.
    costs = np.maximum(contrasts - FREE_CONTRAST, 1e-6)
    ends = np.concatenate([edges, edges[:, ::-1]])
    graph = sparse.csr_matrix((np.tile(costs, 2), (ends[:, 0], ends[:, 1])), shape=(n_segments, n_segments))
    return np.exp(-(dijkstra(graph, limit=FARTHEST) ** 2) / (2 * APART**2))
