"""The outline of a mask at the resolution of the photograph, in a band around the outline at working size.

Pixels farther from the coarse outline keep its decision. Those in the band are gathered into the basins of the colour
gradient; a minimum cut labels the basins by three kinds of evidence: the side of the coarse outline they lie on, their
colour against the mean colours of the object and of the background nearby, and edges between them. Superpixels, colour
evidence and cut see the band alone, so that their time grows with the length of the outline.
"""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np

from segvote.kernels.pixels import measure_gradient, smooth_colour
from segvote.masks.sharpen import (
    AGREEMENT,
    COLOUR_WIDTH,
    EDGE_WIDTH,
    MOST_COLOUR,
    SMOOTHNESS,
    cut_graph,
    measure_agreement,
)

# Half the width of the band, and the part of it, next to its rim, that keeps the coarse decision: pixels at working
# size.
REACH, KEPT = 4.0, 0.8
# Evidence of lying `REACH` inside of the coarse outline.
TRUST = 4.0
# Gaussian before the gradient, in pixels of the photograph.
GRAIN = 1.0
# Colours nearby: Gaussian weights of this width around a pixel, of pixels at least `SURE` away from the outline; at
# working size.
NEARBY, SURE = 12.0, 1.0
# Evidence that no other outweighs.
CERTAIN = 50.0


@dataclass(frozen=True)
class Band:
    """Pixels around an outline, gathered into basins.

    Attributes
    ----------
    pixels, basins : ndarray
        (n,) place of each pixel in the raveled image; (n,) its basin, 0 .. m-1.
    edges, lengths : ndarray
        (e, 2) neighbouring basins, each pair once; (e,) pixels of shared boundary.
    """

    pixels: np.ndarray
    basins: np.ndarray
    edges: np.ndarray
    lengths: np.ndarray

    def average(self, values: np.ndarray) -> np.ndarray:
        """(m, channels) means over each basin of values (n, channels)."""
        sums = [np.bincount(self.basins, weights=channel) for channel in values.T]
        return np.stack(sums, axis=1) / np.bincount(self.basins)[:, None]


def refine_outline(lab: np.ndarray, coarse: np.ndarray) -> np.ndarray:
    """Redraw a mask at the size of the photograph.

    Parameters
    ----------
    lab : ndarray
        (H, W, 3) float32, the photograph in Lab.
    coarse : ndarray
        (h, w) bool, the mask at working size, which is smaller.

    Returns
    -------
    ndarray
        (H, W) bool.
    """
    signed = measure_signed_distance(coarse)
    depth = _enlarge(signed, lab.shape[:2])
    inside = depth > 0
    is_near = np.abs(depth) < REACH
    if not is_near.any() or coarse.all() or not coarse.any():
        return inside
    band = find_band(measure_gradient(smooth_colour(lab, GRAIN)), is_near)
    inside.ravel()[band.pixels] = _label_basins(band, lab, signed, depth)[band.basins]
    return inside


def measure_signed_distance(mask: np.ndarray) -> np.ndarray:
    """(h, w) float32 distance from the outline of a mask: above 0 inside, half a pixel beside the outline.

    The image's edge is no outline.
    """
    framed = np.pad(mask, 1, mode="edge").astype(np.uint8)
    within, without = (cv2.distanceTransform(part, cv2.DIST_L2, 5)[1:-1, 1:-1] for part in (framed, 1 - framed))
    return np.where(mask, within - 0.5, 0.5 - without).astype(np.float32)


def find_band(gradient: np.ndarray, is_near: np.ndarray) -> Band:
    """Gather the near pixels (h, w) bool into basins of a gradient (h, w)."""
    pixels = np.flatnonzero(is_near)
    numbers = np.full(is_near.size, -1, dtype=np.int64)
    numbers[pixels] = np.arange(len(pixels))
    neighbours = _list_neighbours(pixels, numbers, is_near.shape)
    basins = find_basins(gradient.ravel()[pixels], neighbours)
    return Band(pixels, basins, *_list_edges(basins, neighbours))


def _list_neighbours(pixels: np.ndarray, numbers: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """(4, n) numbers of the pixels above, left, right and below each one; -1 where that is not among them."""
    height, width = shape
    rows, columns = np.divmod(pixels, width)
    found = np.full((4, len(pixels)), -1, dtype=np.int64)
    steps = ((-width, rows > 0), (-1, columns > 0), (1, columns < width - 1), (width, rows < height - 1))
    for row, (step, exists) in zip(found, steps, strict=True):
        row[exists] = numbers[pixels[exists] + step]
    return found


def find_basins(gradient: np.ndarray, neighbours: np.ndarray) -> np.ndarray:
    """(n,) basin of each pixel, 0 .. m-1: the minimum that the steepest way down ends in.

    Parameters
    ----------
    gradient : ndarray
        (n,) of each pixel; of equal ones the pixel of the lower number counts as the lower.
    neighbours : ndarray
        (4, n) numbers of neighbours, -1 for none.
    """
    lowest, target = gradient.copy(), np.arange(len(gradient))
    for others in neighbours:
        values = np.where(others >= 0, gradient[others], np.inf)
        is_lower = (values < lowest) | ((values == lowest) & (others >= 0) & (others < target))
        lowest, target = np.where(is_lower, values, lowest), np.where(is_lower, others, target)
    while not np.array_equal(further := target[target], target):
        target = further
    return np.unique(target, return_inverse=True)[1]


def _list_edges(basins: np.ndarray, neighbours: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Pairs of basins (e, 2) that touch and how many pixels (e,) of boundary they share."""
    n_basins = int(basins.max()) + 1
    pairs = [(basins[others >= 0], basins[others[others >= 0]]) for others in neighbours[2:]]
    one, other = (np.concatenate(side) for side in zip(*pairs, strict=True))
    differs = one != other
    codes = np.minimum(one, other)[differs] * n_basins + np.maximum(one, other)[differs]
    found, lengths = np.unique(codes, return_counts=True)
    return np.stack(np.divmod(found, n_basins), axis=1), lengths


def _label_basins(band: Band, lab: np.ndarray, signed: np.ndarray, depth: np.ndarray) -> np.ndarray:
    """(m,) bool: the basins of the object."""
    areas = np.bincount(band.basins)
    colours = band.average(lab.reshape(-1, 3)[band.pixels])
    depths = band.average(depth.reshape(-1, 1)[band.pixels])[:, 0]
    evidence = TRUST * depths / REACH + _weigh_colours(band, lab, signed, colours, depths > 0)
    evidence = np.where(np.abs(depths) > KEPT * REACH, np.sign(depths) * CERTAIN, evidence)
    gaps = ((colours[band.edges[:, 0]] - colours[band.edges[:, 1]]) ** 2).sum(axis=1)
    costs = SMOOTHNESS * band.lengths * np.exp(-gaps / (2 * EDGE_WIDTH**2)) / np.sqrt(areas.mean())
    return cut_graph(areas / areas.mean() * evidence, band.edges, costs)


def _weigh_colours(
    band: Band, lab: np.ndarray, signed: np.ndarray, colours: np.ndarray, is_inside: np.ndarray
) -> np.ndarray:
    """(m,) evidence of colours (m, 3): nearer to the mean of the object nearby than to that of the background."""
    small = cv2.resize(lab, signed.shape[::-1], interpolation=cv2.INTER_AREA)
    places = _find_coarse(band.pixels, lab.shape[:2], signed.shape)
    gaps, known = [], np.ones(len(colours), dtype=bool)
    for is_sure in (signed < -SURE, signed > SURE):
        means, weights = _average_nearby(small, is_sure)
        # Smooth enough to be read without interpolation, and in the band alone.
        nearby = band.average(means.reshape(-1, 3)[places])
        known &= band.average(weights.reshape(-1, 1)[places])[:, 0] > 1e-3
        gaps.append(((colours - nearby) ** 2).sum(axis=1))
    evidence = np.clip((gaps[0] - gaps[1]) / (2 * COLOUR_WIDTH**2), -MOST_COLOUR, MOST_COLOUR) * known
    if is_inside.all() or not is_inside.any():
        return np.zeros(len(colours))
    low, high = AGREEMENT
    return evidence * np.clip((measure_agreement(evidence, is_inside) - low) / (high - low), 0, 1)


def _average_nearby(colours: np.ndarray, chosen: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(h, w, 3) mean of the chosen pixels (h, w) near each pixel, and (h, w) their weight."""
    weights = cv2.GaussianBlur(chosen.astype(np.float32), (0, 0), NEARBY)
    sums = cv2.GaussianBlur(colours * chosen[..., None], (0, 0), NEARBY)
    return sums / np.maximum(weights, 1e-6)[..., None], weights


def _find_coarse(pixels: np.ndarray, size: tuple[int, ...], coarse_size: tuple[int, ...]) -> np.ndarray:
    """(n,) place in a smaller raveled image of the pixels (n,) of a larger one."""
    rows, columns = np.divmod(pixels, size[1])
    return rows * coarse_size[0] // size[0] * coarse_size[1] + columns * coarse_size[1] // size[1]


def _enlarge(values: np.ndarray, size: tuple[int, ...]) -> np.ndarray:
    return cv2.resize(values, size[::-1], interpolation=cv2.INTER_LINEAR)
