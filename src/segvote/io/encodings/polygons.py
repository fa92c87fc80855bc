"""Polygons that run along pixel edges, and the rasteriser that turns them back into the identical mask.

A coordinate (x, y) is a lattice point: (0, 0) is the outer corner of the first pixel, (w, h) that of the last. A pixel
belongs to a polygon when its centre (x + 1/2, y + 1/2) lies inside by the even-odd rule. Objects are 4-connected and
holes 8-connected, so pixels that meet at a corner only are separate polygons and no ring crosses itself. A filler that
draws the outline as well, such as OpenCV's, gives a larger mask.
"""

from __future__ import annotations

from collections.abc import Sequence

import cv2
import numpy as np

from segvote.errors import BadInputError

_MAX_CROSSINGS = 1 << 22  # handled at a time
_MAX_COORDINATE = 1e9


def trace_polygons(mask: np.ndarray) -> list[list[np.ndarray]]:
    """Exact outlines of a (h, w) bool mask: ``rasterise`` of all rings gives the same mask.

    One polygon per 4-connected region, from top to bottom and left to right: its outer ring, then its holes. A ring is
    (n, 2) int64 lattice points (x, y), starts at its topmost, leftmost point and runs right first.
    """
    corners, horizontal, vertical = _link_corners(mask)
    _, regions = cv2.connectedComponents(mask.astype(np.uint8), connectivity=4, ltype=cv2.CV_32S)
    polygons: dict[int, list[np.ndarray]] = {}
    for ring in _follow_rings(corners, horizontal, vertical):
        x, y = ring[0]
        if mask[y, x]:  # the pixel inside the ring's first corner
            polygons[regions[y, x]] = [ring]
        else:
            polygons[regions[y - 1, x]].append(ring)
    return list(polygons.values())


def list_outlines(mask: np.ndarray) -> list[np.ndarray]:
    """One closed ring, (n, 2) int64 points (x, y), for each 4-connected region of a mask, its holes bridged."""
    return [bridge_holes(polygon) for polygon in trace_polygons(mask)]


def rasterise(rings: Sequence[np.ndarray], height: int, width: int) -> np.ndarray:
    """(height, width) bool: rings filled by the even-odd rule at pixel centres, clipped to the picture.

    Rings are closed, of (n, 2) points (x, y), whole or fractional, in any order; a hole is one more ring.
    """
    mask = np.zeros((height, width), bool)
    points = np.concatenate([np.empty((0, 2)), *rings])
    if not (np.abs(points) < _MAX_COORDINATE).all():
        raise BadInputError("a polygon must have finite points; export it again")
    if len(points):
        # Only the box that the rings can reach: a small shape in a large picture is quick.
        left, top = np.clip(np.floor(points.min(axis=0)), 0, (width, height)).astype(int)
        right, bottom = np.clip(np.ceil(points.max(axis=0)), 0, (width, height)).astype(int)
        if left < right and top < bottom:
            box = slice(top, bottom), slice(left, right)
            mask[box] = _fill_box([np.asarray(ring, dtype=np.float64) for ring in rings], box)
    return mask


def _fill_box(rings: Sequence[np.ndarray], box: tuple[slice, slice]) -> np.ndarray:
    n_rows, n_columns = (side.stop - side.start for side in box)
    toggles = np.zeros((n_rows, n_columns + 1), np.uint8)
    step = max(1, _MAX_CROSSINGS // n_rows)  # an untrusted ring may cross all rows a million times
    for ring in rings:
        following = np.roll(ring, -1, axis=0)
        for first in range(0, len(ring), step):
            edges = slice(first, first + step)
            crossings = _find_crossings(ring[edges], following[edges], box)
            np.bitwise_xor.at(toggles.reshape(-1), crossings, np.uint8(1))
    return np.bitwise_xor.accumulate(toggles, axis=1)[:, :n_columns].astype(bool)


def bridge_holes(polygon: Sequence[np.ndarray]) -> np.ndarray:
    """One closed ring, (n, 2) int64 points (x, y), with the same inside, for formats without holes.

    Each hole is joined to the ring on its left by a seam of no width that runs there and back along a lattice row; no
    even-odd or non-zero filling can see it.
    """
    ring, *holes = polygon
    # From the leftmost, then topmost point: its left neighbour is no part of the hole.
    tours = [np.roll(hole, -np.lexsort((hole[:, 1], hole[:, 0]))[0], axis=0) for hole in holes]
    for tour in sorted(tours, key=lambda tour: tuple(tour[0])):
        index, landing = _find_edge_left(ring, *tour[0])
        closed = np.concatenate([tour, tour[:1]])
        ring = np.concatenate([ring[: index + 1], [landing], closed[::-1], [landing], ring[index + 1 :]])
    return ring


def _find_edge_left(ring: np.ndarray, x: int, y: int) -> tuple[int, np.ndarray]:
    """Index of the edge of `ring` first met when walking left from (x, y), and the point where it is met."""
    following = np.roll(ring, -1, axis=0)
    low, high = np.minimum(ring[:, 1], following[:, 1]), np.maximum(ring[:, 1], following[:, 1])
    is_met = (ring[:, 0] == following[:, 0]) & (low <= y) & (y <= high) & (ring[:, 0] <= x)
    candidates = np.flatnonzero(is_met)
    index = candidates[np.argmax(ring[candidates, 0])]
    return int(index), np.array([ring[index, 0], y])


def _link_corners(mask: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Corners of the outline in reading order, (n, 2) as (x, y), and each one's partner along its row and its column.

    Along a row of lattice points the outline's horizontal edges join the first corner to the second, the third to the
    fourth and so on, and likewise along a column. Where two pixels meet at a corner only, the point is two corners.
    """
    padded = np.pad(mask, 1).astype(np.uint8)
    top_left, top_right = padded[:-1, :-1], padded[:-1, 1:]
    bottom_left, bottom_right = padded[1:, :-1], padded[1:, 1:]
    n_around = top_left + top_right + bottom_left + bottom_right
    is_double = (n_around == 2) & (top_left == bottom_right)
    y, x = np.nonzero((n_around % 2 == 1) | is_double)
    n_copies = 1 + is_double[y, x]
    copy = _count_within(n_copies)
    x, y = x.repeat(n_copies), y.repeat(n_copies)
    # Of two corners in one place the first goes left; it goes up if that surrounds a pixel, else down.
    rank_in_column = np.where(is_double[y, x] & (top_left[y, x] == 0), 1 - copy, copy)
    by_column = np.lexsort((rank_in_column, y, x))
    return np.column_stack([x, y]), _pair_neighbours(np.arange(len(x))), _pair_neighbours(by_column)


def _count_within(n_copies: np.ndarray) -> np.ndarray:
    """0, 1, … within each group of the given sizes."""
    return np.arange(n_copies.sum()) - np.repeat(np.cumsum(n_copies) - n_copies, n_copies)


def _pair_neighbours(order: np.ndarray) -> np.ndarray:
    partners = np.empty_like(order)
    partners[order[0::2]], partners[order[1::2]] = order[1::2], order[0::2]
    return partners


def _follow_rings(corners: np.ndarray, horizontal: np.ndarray, vertical: np.ndarray) -> list[np.ndarray]:
    along_row, along_column = horizontal.tolist(), vertical.tolist()  # plain lists are quicker one by one
    seen = bytearray(len(along_row))
    rings = []
    for start in range(len(seen)):
        if seen[start]:
            continue
        ring, corner = [], start
        while not seen[corner]:
            partner = along_row[corner]
            seen[corner] = seen[partner] = 1
            ring += [corner, partner]
            corner = along_column[partner]
        rings.append(corners[ring])
    return rings


def _find_crossings(start: np.ndarray, end: np.ndarray, box: tuple[slice, slice]) -> np.ndarray:
    """Flat indices into the box, one column wider, of the first pixel right of where an edge meets a row's centre."""
    rows, columns = box
    start, end = np.where((start[:, 1] <= end[:, 1])[:, None], (start, end), (end, start))
    first = np.clip(np.ceil(start[:, 1] - 0.5), rows.start, rows.stop).astype(np.int64)
    # Exclusive, so that a shared point counts once.
    last = np.clip(np.ceil(end[:, 1] - 0.5), rows.start, rows.stop).astype(np.int64)
    n_rows = last - first
    edge = np.repeat(np.arange(len(start)), n_rows)
    row = first[edge] + _count_within(n_rows)
    slope = (end[edge, 0] - start[edge, 0]) / (end[edge, 1] - start[edge, 1])
    x = start[edge, 0] + (row + 0.5 - start[edge, 1]) * slope
    column = np.clip(np.ceil(x - 0.5), columns.start, columns.stop).astype(np.int64)
    return (row - rows.start) * (columns.stop - columns.start + 1) + column - columns.start
