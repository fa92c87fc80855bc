"""The smart click: the region around a point that edges and votes suggest.

Superpixels are added to the clicked one, the nearest in colour first, which gives nested regions. The chosen one has
the strongest contrast in colour across its outline, times its agreement with the votes.
"""

from __future__ import annotations

import numpy as np
from scipy import sparse

from segvote.errors import BadInputError
from segvote.io.images import resize_labels
from segvote.masks import Superpixels

# Largest region, in areas of the clicked segment and of the mask: corrections are smaller than the object.
MAX_SEGMENTS, MAX_MASKS = 5.0, 0.25


def find_region(graph: Superpixels, mask: np.ndarray, heat: np.ndarray, point: np.ndarray, value: int) -> np.ndarray:
    """(h, w) bool: the region of a smart click at a point (x, y) of an image.

    The region stays on the side of the mask (h, w) on which the point lies. It agrees with high votes, `heat`
    (n_segments,) in [0, 1], where it becomes object (`value` 1), else with low ones.
    """
    labels = graph.labels
    start = labels[_scale_place(point, mask.shape, labels.shape)]
    small = resize_labels(mask, labels.shape)
    covered = np.bincount(labels.ravel(), weights=small.ravel(), minlength=len(graph.areas)) > 0.5 * graph.areas
    order, contrasts = list_nested(graph, int(start), covered == covered[start], _find_limit(graph, int(start), small))
    agreement = heat[graph.segments] if value == 1 else 1 - heat[graph.segments]
    areas = graph.areas[order].astype(np.float64)
    best = np.argmax(contrasts * np.cumsum(areas * agreement[order]) / np.cumsum(areas))
    chosen = np.zeros(len(graph.areas), dtype=bool)
    chosen[order[: best + 1]] = True
    return chosen[resize_labels(labels, mask.shape)]


def _scale_place(point: np.ndarray, size: tuple[int, ...], other: tuple[int, ...]) -> tuple[int, int]:
    """Row and column in a map of another size of a point x, y in an image (h, w)."""
    place = np.floor(point[::-1] * np.array(other) / np.array(size)).astype(int)
    if (place < 0).any() or (place >= other).any():
        raise BadInputError(f"expected a place inside the image ({size[1]} x {size[0]}); got {point.tolist()}")
    return int(place[0]), int(place[1])


def _find_limit(graph: Superpixels, start: int, mask: np.ndarray) -> float:
    """Largest area of a region, in pixels of the superpixels' map."""
    segment = float(graph.areas[graph.segments == graph.segments[start]].sum())
    n_covered = int(np.count_nonzero(mask))
    return min(MAX_SEGMENTS * segment, max(MAX_MASKS * n_covered, segment)) if n_covered else MAX_SEGMENTS * segment


def list_nested(
    graph: Superpixels, start: int, allowed: np.ndarray, limit: float = np.inf
) -> tuple[np.ndarray, np.ndarray]:
    """Nested regions around a superpixel: each adds the neighbour that is nearest to its mean colour.

    Only `allowed` (n,) superpixels are added, and edges to others belong to no outline; no region but the first is
    larger than `limit`.

    Returns
    -------
    order : (k,) int
        Superpixels as they are added.
    contrasts : (k,) float
        Mean difference in colour across the outline of the first 1, 2, … k of them, by length; 0 without an outline.
    """
    lengths, steps = _link(graph, allowed)
    inside, reached = np.zeros(len(allowed), dtype=bool), np.zeros(len(allowed), dtype=bool)
    area, colour, outline, contrast = 0.0, np.zeros(3), 0.0, 0.0
    order, contrasts = [start], []
    while True:
        inside[order[-1]] = True
        area += float(graph.areas[order[-1]])
        colour += graph.areas[order[-1]] * graph.colours[order[-1]]
        row = slice(*lengths.indptr[order[-1] : order[-1] + 2])
        beside = lengths.indices[row]
        signs = np.where(inside[beside], -1, 1)  # an edge between two superpixels of the region is none of its outline
        outline += float(signs @ lengths.data[row])
        contrast += float(signs @ (lengths.data[row] * steps.data[row]))
        reached[beside] = True
        outer = np.flatnonzero(reached & ~inside)
        contrasts.append(contrast / outline if len(outer) else 0.0)
        if not len(outer):
            break
        nearest = outer[np.argmin(np.linalg.norm(graph.colours[outer] - colour / area, axis=1))]
        if area + graph.areas[nearest] > limit:
            break
        order.append(int(nearest))
    return np.array(order), np.array(contrasts)


def _link(graph: Superpixels, allowed: np.ndarray) -> tuple[sparse.csr_matrix, sparse.csr_matrix]:
    """(n, n) lengths of the edges between allowed superpixels, and differences in colour across them."""
    kept = allowed[graph.edges].all(axis=1)
    first, second = graph.edges[kept].T
    steps = np.linalg.norm(graph.colours[first] - graph.colours[second], axis=1)
    places = (np.concatenate([first, second]), np.concatenate([second, first]))
    shape = (len(allowed), len(allowed))
    lengths, steps = (np.tile(values.astype(np.float64), 2) for values in (graph.lengths[kept], steps))
    # Two maps of the same places: explicit zeros are kept, so that rows have the same columns.
    return sparse.csr_matrix((lengths, places), shape), sparse.csr_matrix((steps, places), shape)
