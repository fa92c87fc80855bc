"""From a stroke of the pointer to pixels: brush, polygon, fill and outline, as drawn or snapped to fine superpixels.

Coordinates are those of the displayed image: (0, 0) is the outer corner of the first pixel, (width, height) that of the
last; the centre of a pixel lies at one half.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import cv2
import numpy as np

from segvote.errors import BadInputError
from segvote.io.encodings.polygons import rasterise, trace_polygons
from segvote.io.images import resize_labels

TOOLS = ("brush", "fill", "polygon", "smart")
PLACES = ("fill", "smart")  # tools of which one point counts
MAX_POINTS = 1 << 13
# Half the diagonal of a pixel: a line of this radius has no gaps at corners, so that the thinnest cut separates.
THINNEST = 0.70711
# A superpixel is part of a snapped stroke when so much of it is, or the pointer itself passed over it.
SNAPPED = 0.5
# Pixels by which corners of a traced outline may miss it, in an image of a thousand: a few corners are easier to move.
OUTLINE_TOLERANCE = 2.0


@dataclass(frozen=True)
class Stroke:
    """What the pointer did.

    Attributes
    ----------
    tool
        One of `TOOLS`.
    points
        (n, 2) x and y: the way of a brush, the corners of a polygon, the one point of a fill or a smart click.
    radius
        Of a brush, in pixels of the image.
    snap
        Whether the edge follows the fine superpixels.
    """

    tool: str
    points: np.ndarray
    radius: float = 0.5
    snap: bool = False


def check_stroke(tool: str, points: list[float], radius: float, snap: bool) -> Stroke:
    """A stroke from what a page sent, x and y in turn; nothing in it is trusted."""
    if tool not in TOOLS:
        raise BadInputError(f"expected a tool of {', '.join(TOOLS)}; got {tool!r:.40}")
    if not 2 <= len(points) <= 2 * MAX_POINTS or len(points) % 2:
        raise BadInputError(f"expected x and y of 1 to {MAX_POINTS} points; got {len(points)} numbers")
    pairs = np.array(points, dtype=np.float64).reshape(-1, 2)
    if not np.isfinite(pairs).all() or np.abs(pairs).max() > 1e6 or not 0 < radius <= 1e4:
        raise BadInputError("expected points in pixels of the image and a radius above 0; got numbers beyond any image")
    if tool == "polygon" and len(pairs) < 3:
        raise BadInputError(f"a polygon needs three corners; got {len(pairs)}")
    return Stroke(tool, pairs[:1] if tool in PLACES else pairs, radius, snap)


def draw_stroke(stroke: Stroke, mask: np.ndarray, value: int) -> np.ndarray:
    """The pixels of a stroke.

    Parameters
    ----------
    stroke
        See `Stroke`; `snap` is not looked at.
    mask
        (h, w) bool at the size of the image: what a fill flows through.
    value
        1 object, 0 background, -1 undecided: a fill takes the connected part of the mask that is not so yet.

    Returns
    -------
    (h, w) bool, with at least one pixel; `BadInputError` where the stroke lies outside the image.
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
    """All pixels whose centre is at most the radius from the way of the pointer; the pixel under it in any case."""
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
    """Points of a way that are at least `step` apart; the first and the last are kept."""
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
    """The connected part of the mask, or of what is not mask, under a point."""
    height, width = mask.shape
    x, y = np.floor(point).astype(int)
    if not (0 <= x < width and 0 <= y < height):
        return np.zeros(mask.shape, dtype=bool)
    if mask[y, x] == value:
        raise BadInputError(f"this part is {'object' if value else 'background'} already; nothing to fill")
    _, parts = cv2.connectedComponents((mask == mask[y, x]).astype(np.uint8), connectivity=4)
    return parts == parts[y, x]  # type: ignore[no-any-return]


def trace_outline(mask: np.ndarray, point: np.ndarray) -> np.ndarray:
    """(n, 2) corners x and y of the outer outline of the connected region of a mask (h, w) under a point."""
    region = _find_region(mask, point)
    (polygon,) = trace_polygons(region)
    tolerance = OUTLINE_TOLERANCE * max(mask.shape) / 1000
    ring: np.ndarray = cv2.approxPolyDP(polygon.outer.astype(np.float32)[:, None], tolerance, closed=True)[:, 0]
    return ring if len(ring) > 2 else polygon.outer


def reshape_region(mask: np.ndarray, point: np.ndarray, corners: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(h, w) bool each: the pixels that a new outline adds to the region of a mask under a point, and those it removes.

    Holes stay: only what lies between the outline as `trace_outline` has it and the new one changes.
    """
    region, height, width = _find_region(mask, point), *mask.shape
    old, new = (rasterise([ring], height, width) for ring in (trace_outline(mask, point), corners))
    return new & ~old & ~mask, old & ~new & region


def _find_region(mask: np.ndarray, point: np.ndarray) -> np.ndarray:
    x, y = np.floor(point).astype(int)
    height, width = mask.shape
    if not (0 <= x < width and 0 <= y < height and mask[y, x]):
        raise BadInputError("expected a place on the mask; there is none here: it may have changed, try again")
    _, parts = cv2.connectedComponents(mask.astype(np.uint8), connectivity=4)
    return parts == parts[y, x]  # type: ignore[no-any-return]


def snap_to_superpixels(pixels: np.ndarray, stroke: Stroke, superpixels: np.ndarray) -> np.ndarray:
    """The superpixels that a stroke means, as pixels; the stroke as drawn where it means none whole.

    Parameters
    ----------
    pixels
        (h, w) bool of `draw_stroke`.
    stroke
        The stroke: a brush means the superpixels that it passes with its centre, too.
    superpixels
        (h', w') labels 0 .. n-1, of any size.
    """
    labels = resize_labels(superpixels, pixels.shape).astype(np.int64)  # type: ignore[arg-type]
    areas = np.bincount(labels.ravel())
    chosen = np.bincount(labels.ravel(), weights=pixels.ravel(), minlength=len(areas)) >= SNAPPED * areas
    if stroke.tool == "brush":
        centre = _brush(Stroke("brush", stroke.points, 0.5), pixels.shape)  # type: ignore[arg-type]
        chosen[np.unique(labels[centre])] = True
    chosen &= areas > 0
    return chosen[labels] if chosen.any() else pixels
