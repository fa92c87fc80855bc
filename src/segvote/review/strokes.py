"""From a stroke of the pointer to pixels: brush, polygon and fill, as drawn or snapped to fine superpixels.

Coordinates are those of the displayed image: (0, 0) is the outer corner of the first pixel, (width, height) that of the
last; the centre of a pixel lies at one half.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import cv2
import numpy as np

from segvote.errors import BadInputError
from segvote.io.encodings.polygons import rasterise, trace_polygons
from segvote.io.images import resize_labels
from segvote.registry import check_known

Points = Sequence[float] | np.ndarray  # x and y in turn
TOOLS = ("brush", "fill", "polygon", "smart")
PLACES = ("fill", "smart")  # tools of which one point counts
MAX_POINTS = 1 << 13
# Half the diagonal of a pixel: a line of this radius has no gaps at corners, so that the thinnest cut separates.
THINNEST = 0.70711
# Share of a superpixel from which on it is part of a snapped stroke.
SNAPPED = 0.5
# Pixels by which a traced outline may be off, in an image of a thousand, at least one: few corners are easy to drag.
OUTLINE_TOLERANCE = 2.0


@dataclass(frozen=True)
class Stroke:
    """A stroke of the pointer.

    `tool` is one of `TOOLS`; `points` (n, 2) are x and y: the path of a brush, the corners of a polygon, the one point
    of a fill or a smart click; `radius` is that of a brush, in pixels of the image.
    """

    tool: str
    points: np.ndarray
    radius: float = 0.5


def check_stroke(tool: str, points: Points, radius: float = 0.5) -> Stroke:
    """A stroke from untrusted values."""
    check_known(tool, TOOLS, "tool")
    numbers = np.array(points, dtype=np.float64).ravel()
    if not 2 <= len(numbers) <= 2 * MAX_POINTS or len(numbers) % 2:
        raise BadInputError(f"expected x and y of 1 to {MAX_POINTS} points; got {len(numbers)} numbers")
    pairs = numbers.reshape(-1, 2)
    if not np.isfinite(pairs).all() or np.abs(pairs).max() > 1e6 or not 0 < radius <= 1e4:
        raise BadInputError("expected points in pixels of the image and a radius above 0; got numbers beyond any image")
    if tool == "polygon" and len(pairs) < 3:
        raise BadInputError(f"a polygon needs three corners; got {len(pairs)}")
    return Stroke(tool, pairs[:1] if tool in PLACES else pairs, radius)


def draw_stroke(stroke: Stroke, mask: np.ndarray, value: int) -> np.ndarray:
    """(h, w) bool: the pixels of a stroke on an image with a mask (h, w) bool, at least one; before snapping.

    A fill takes the connected part of the mask that does not have the value yet: 1 object, 0 background, -1 undecided.
    """
    height, width = mask.shape
    if stroke.tool == "polygon":
        pixels = rasterise([stroke.points], height, width)
    elif stroke.tool == "fill":
        pixels = _fill(stroke.points[0], mask, value)
    else:
        pixels = _brush(stroke, (height, width))
    if not pixels.any():
        raise BadInputError(f"the stroke covers no pixel of the image ({width} x {height}); draw inside it")
    return pixels


def _brush(stroke: Stroke, size: tuple[int, int]) -> np.ndarray:
    """The pixels whose centre is at most the radius from the path of the pointer, and the pixels under it."""
    height, width = size
    pixels = np.zeros(size, dtype=bool)
    points = _thin(stroke.points, max(0.25, stroke.radius / 8))
    for start, end in pairwise([points[0], *points]):
        _draw_line(pixels, start, end, max(stroke.radius, THINNEST))
    inside = ((stroke.points >= 0) & (stroke.points < [width, height])).all(axis=1)
    columns, rows = np.floor(stroke.points[inside]).astype(int).T
    pixels[rows, columns] = True
    return pixels


def _thin(points: np.ndarray, step: float) -> list[np.ndarray]:
    """Points of a path that are at least `step` apart; the first and the last are kept."""
    kept = [points[0]]
    for point in points[1:]:
        if np.abs(point - kept[-1]).max() >= step:
            kept.append(point)
    return [*kept, points[-1]]


def _draw_line(pixels: np.ndarray, start: np.ndarray, end: np.ndarray, radius: float) -> None:
    """Set the pixels whose centre is at most `radius` from a line."""
    low = np.maximum(np.floor(np.minimum(start, end) - radius), 0).astype(int)
    high = np.minimum(np.ceil(np.maximum(start, end) + radius), pixels.shape[::-1]).astype(int)
    if (low >= high).any():
        return
    x, y = np.arange(low[0], high[0]) + 0.5, np.arange(low[1], high[1])[:, None] + 0.5
    way = end - start
    along = np.clip(((x - start[0]) * way[0] + (y - start[1]) * way[1]) / max(float(way @ way), 1e-12), 0, 1)
    distance = np.hypot(x - start[0] - along * way[0], y - start[1] - along * way[1])
    pixels[low[1] : high[1], low[0] : high[0]] |= distance <= radius


def _fill(point: np.ndarray, mask: np.ndarray, value: int) -> np.ndarray:
    """The connected part of the mask, or of its complement, under a point."""
    height, width = mask.shape
    x, y = np.floor(point).astype(int)
    if not (0 <= x < width and 0 <= y < height):
        return np.zeros(mask.shape, dtype=bool)
    if mask[y, x] == value:
        raise BadInputError(f"this part is {'object' if value else 'background'} already; nothing to change")
    _, parts = cv2.connectedComponents((mask == mask[y, x]).astype(np.uint8), connectivity=4)
    return parts == parts[y, x]


def trace_outline(mask: np.ndarray, point: Stroke) -> np.ndarray:
    """(n, 2) corners x and y of the simplified outer outline of the connected region of a mask (h, w) under a point."""
    ((outer, *_),) = trace_polygons(draw_stroke(point, mask, 0))
    tolerance = max(1.0, OUTLINE_TOLERANCE * max(mask.shape) / 1000)
    corners: np.ndarray = cv2.approxPolyDP(outer.astype(np.float32)[:, None], tolerance, closed=True)[:, 0]
    return corners if len(corners) > 2 else outer


def snap_to_superpixels(pixels: np.ndarray, stroke: Stroke, superpixels: np.ndarray) -> np.ndarray:
    """(h, w) bool: the superpixels of which most lies in the pixels (h, w) of a stroke, or that a brush passes.

    The pixels themselves where there is none. `superpixels` are labels 0 .. n-1 of any size.
    """
    labels = resize_labels(superpixels, pixels.shape).astype(np.int64)
    areas = np.bincount(labels.ravel())
    chosen = np.bincount(labels.ravel(), weights=pixels.ravel(), minlength=len(areas)) >= SNAPPED * areas
    if stroke.tool == "brush":
        centre = _brush(Stroke("brush", stroke.points, 0.5), pixels.shape)
        chosen[np.unique(labels[centre])] = True
    chosen &= areas > 0
    return chosen[labels] if chosen.any() else pixels
