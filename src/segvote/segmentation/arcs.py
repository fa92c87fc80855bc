"""Arcs: the pieces of boundary between two basins, their direction, and what lies along them.

An arc's value is read in the direction of the arc, not in whichever direction is strongest: this is what keeps the
watershed from being strong where it merely crosses a boundary (Arbelaez 2011).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from segvote.segmentation.half_discs import N_DIRECTIONS

__all__ = ["Arcs", "average_along", "find_arcs"]

SHORT = 4  # faces; a shorter arc has no direction of its own


@dataclass(frozen=True)
class Arcs:
    """All arcs of a map of basins, and the pixel faces that make them up.

    Attributes
    ----------
    pairs
        (n_arcs, 2) int64: the basins on the two sides, the smaller number first.
    lengths
        (n_arcs,) float64: number of faces.
    directions
        (n_arcs,) int64: 0 .. 7, the direction of the arc's normal.
    straightness
        (n_arcs,) float64 in 0 .. 1: how far that direction can be trusted.
    arc_of
        (n_faces,) int64: the arc of each face.
    pixels
        (2, n_faces) int64: flat numbers of the pixels on its two sides.
    """

    pairs: np.ndarray
    lengths: np.ndarray
    directions: np.ndarray
    straightness: np.ndarray
    arc_of: np.ndarray
    pixels: np.ndarray


def find_arcs(basins: np.ndarray) -> Arcs:
    """Arcs of a label map (h, w), numbers 0 .. n-1."""
    pixels = list_face_pixels(basins)
    n_basins = int(basins.max()) + 1
    sides = np.sort(basins.ravel()[pixels], axis=0).astype(np.int64)
    keys, arc_of = np.unique(sides[0] * n_basins + sides[1], return_inverse=True)
    lengths = np.bincount(arc_of, minlength=len(keys)).astype(np.float64)
    directions, straightness = measure_directions(pixels, basins.shape[1], arc_of, lengths)
    return Arcs(np.stack([keys // n_basins, keys % n_basins], 1), lengths, directions, straightness, arc_of, pixels)


def list_face_pixels(basins: np.ndarray) -> np.ndarray:
    """Flat numbers of the two pixels of every face at which the label changes: (2, n_faces)."""
    numbers = np.arange(basins.size).reshape(basins.shape)
    across, down = basins[:, :-1] != basins[:, 1:], basins[:-1] != basins[1:]
    first = np.concatenate([numbers[:, :-1][across], numbers[:-1][down]])
    second = np.concatenate([numbers[:, 1:][across], numbers[1:][down]])
    return np.stack([first, second])


def measure_directions(
    pixels: np.ndarray, width: int, arc_of: np.ndarray, lengths: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Direction of each arc's normal and how straight it is, from the spread of its faces."""
    y, x = (pixels // width).mean(axis=0), (pixels % width).mean(axis=0)

    def average(values: np.ndarray) -> np.ndarray:
        return np.bincount(arc_of, values, len(lengths)) / lengths

    x, y = x - average(x)[arc_of], y - average(y)[arc_of]
    # A face is one pixel long, which adds a twelfth to the variance along either axis.
    xx, yy, xy = average(x * x) + 1 / 12, average(y * y) + 1 / 12, average(x * y)
    normal = np.arctan2(2 * xy, xx - yy) / 2 + np.pi / 2
    straightness = np.hypot(xx - yy, 2 * xy) / (xx + yy) * (lengths >= SHORT)
    return np.mod(np.rint(normal * N_DIRECTIONS / np.pi).astype(np.int64), N_DIRECTIONS), straightness


def average_along(arcs: Arcs, maps: np.ndarray, strongest: np.ndarray) -> np.ndarray:
    """(n_arcs,) mean of an oriented map (8, h, w) along each arc, in the arc's direction as far as it is straight.

    `strongest` (h, w) is the direction to read where an arc has none of its own.
    """
    flat, best = maps.reshape(N_DIRECTIONS, -1), strongest.ravel()
    directed = flat[arcs.directions[arcs.arc_of], arcs.pixels].mean(axis=0)
    free = flat[best[arcs.pixels], arcs.pixels].mean(axis=0)
    trust = arcs.straightness[arcs.arc_of]
    return np.bincount(arcs.arc_of, trust * directed + (1 - trust) * free, len(arcs.lengths)) / arcs.lengths
