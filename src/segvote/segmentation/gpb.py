"""The paper's segments: globalised probability of boundary and its hierarchy, after Arbelaez et al. (2011).

Brightness, colour and texture are compared between half-discs of three sizes in eight directions; a logistic regression
turns them into a boundary map; the normalised cut of that map adds the global view; watershed basins of the sum are
merged over their weakest boundary. The numbers of the regressions and the textons are our own, fitted to human
boundaries by ``benchmarks/bench_segmentation.py`` and kept in ``gpb.json`` with their origin.

It departs from the original in three places, because each measured better: the second regression works on arcs, not on
pixels, and asks whether people put the two sides into different segments; an arc is read in its own direction softly;
small regions merge sooner.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

import cv2
import numpy as np

from segvote.numerics.pixels import convert_to_lab
from segvote.segmentation.arcs import Arcs, average_along, find_arcs, link_boundaries
from segvote.segmentation.cues import (
    N_DIRECTIONS,
    assign_textons,
    compare_histograms,
    compare_means,
    double_map,
    halve_map,
)
from segvote.segmentation.hierarchy import crop_segmentation
from segvote.segmentation.labels import check_image
from segvote.segmentation.spectral import measure_steps
from segvote.segmentation.ward import find_basins
from segvote.types import Segmentation

BINS = {"L": (0, 100, 12), "a": (-45, 45, 14), "b": (-45, 45, 14)}  # lowest, highest, number
FINE_UNIT = np.float32(20)  # colour units that make a fine contrast of one
STEP_WEIGHT = np.float32(0.2)  # of spectral steps against the log-odds of contrasts, where basins are looked for
# How much the log-odds of a boundary fall when the smaller of its two regions is e times smaller; 0 is the original,
# which leaves specks of high contrast.
SIZE_PRIOR = 0.4
ALONG, ACROSS = 5.0, 1.0  # pixels: boundaries are smoothed along their direction, hardly across it


@dataclass(frozen=True)
class GpbModel:
    """The fitted numbers."""

    textons: np.ndarray  # (n, 17)
    pixel_weights: np.ndarray  # (15,) of contrasts
    pixel_bias: float
    arc_weights: np.ndarray  # (17,) of contrasts and spectral steps
    arc_bias: float
    origin: str = ""


@dataclass(frozen=True)
class Contrasts:
    """Oriented contrasts of one image."""

    # (8, h2, w2, 12) float32 at half size: L, a, b, texture with radius 5, then 10, then 20 pixels of the image.
    coarse: np.ndarray
    fine: np.ndarray  # (8, h, w, 3) float32: L, a, b with radius 3

    def weigh(self, weights: np.ndarray) -> np.ndarray:
        """Weighted sum of all contrasts at full size: weights (15,) -> (8, h, w)."""
        weights = weights.astype(np.float32)
        coarse, fine = self.coarse @ weights[:12], self.fine @ weights[12:]
        return np.stack([double_map(plane, fine.shape[1:]) for plane in coarse]) + fine


def segment_gpb(image: np.ndarray, n_segments: int = 200) -> Segmentation:
    """Segment an image along the boundaries that people would draw; altitudes are probabilities of a boundary.

    Fewer segments come out where the boundary map has fewer basins.
    """
    return segment_with_model(image, load_model(), n_segments)


@cache
def load_model() -> GpbModel:
    """The fitted numbers that come with the package, from ``benchmarks/bench_segmentation.py``."""
    stored = json.loads(files("segvote.segmentation").joinpath("gpb.json").read_text(encoding="utf-8"))
    arrays = {name: np.array(stored[name], np.float32) for name in ("textons", "pixel_weights", "arc_weights")}
    return GpbModel(**arrays, pixel_bias=stored["pixel_bias"], arc_bias=stored["arc_bias"], origin=stored["origin"])


def segment_with_model(image: np.ndarray, model: GpbModel, n_segments: int) -> Segmentation:
    """As `segment_gpb`, with other fitted numbers."""
    image = check_image(image, n_segments)
    contrasts = measure_contrasts(image, model.textons)
    odds = smooth_along(contrasts.weigh(model.pixel_weights) + np.float32(model.pixel_bias))
    steps = measure_spectral(odds)
    basins, arcs, strongest = find_boundaries(odds, steps)
    strengths = weigh_arcs(arcs, strongest, contrasts, steps, model)
    parents, altitudes = link_boundaries(arcs, strengths, np.bincount(basins.ravel()), SIZE_PRIOR)
    return crop_segmentation(basins, parents, altitudes, n_segments)


def measure_contrasts(image: np.ndarray, textons: np.ndarray) -> Contrasts:
    """Brightness, colour and texture contrasts of an (h, w, 3) uint8 RGB image; textons (n, 17)."""
    lab = convert_to_lab(image)
    halved = halve_map(lab)
    parts = [spread_over_bins(halved[..., k], *BINS[name]) for k, name in enumerate(BINS)]
    chosen = assign_textons(np.ascontiguousarray(lab[..., 0]), textons)
    parts.append(halve_map((chosen[..., None] == np.arange(len(textons))).astype(np.float32)))
    groups = np.repeat(np.eye(len(parts), dtype=np.float32), [part.shape[-1] for part in parts], axis=0)
    histograms = np.concatenate(parts, axis=-1)  # (h2, w2, n_bins) the bins of L, a, b, texture
    near, middle = (compare_histograms(histograms, groups, radius) for radius in (2.5, 5.0))
    far = compare_histograms(halve_map(histograms), groups, 5.0)
    far = np.stack([double_map(plane, histograms.shape) for plane in far])
    fine = np.sqrt(compare_means(lab, 3.0) / FINE_UNIT)
    return Contrasts(np.concatenate([near, middle, far], axis=-1), fine)


def spread_over_bins(values: np.ndarray, lowest: float, highest: float, n_bins: int) -> np.ndarray:
    """Soft histogram of each value: a Gaussian one bin wide around it, so that near colours differ little."""
    places = np.clip((values - lowest) / (highest - lowest), 0, 1) * (n_bins - 1)
    shares = np.exp(-((places[..., None] - np.arange(n_bins, dtype=np.float32)) ** 2) / 2)
    return shares / shares.sum(axis=-1, keepdims=True)


def smooth_along(maps: np.ndarray) -> np.ndarray:
    """Smooth each oriented map (8, h, w) along the boundary whose normal is its direction."""
    reach = int(np.ceil(2.5 * ALONG))
    y, x = np.mgrid[-reach : reach + 1, -reach : reach + 1]
    smoothed = []
    for angle, plane in zip(np.arange(N_DIRECTIONS) * np.pi / N_DIRECTIONS, maps, strict=True):
        across, along = x * np.cos(angle) + y * np.sin(angle), y * np.cos(angle) - x * np.sin(angle)
        kernel = np.exp(-((across / ACROSS) ** 2 + (along / ALONG) ** 2) / 2)
        kernel = (kernel / kernel.sum()).astype(np.float32)
        smoothed.append(cv2.filter2D(plane, -1, kernel, borderType=cv2.BORDER_REFLECT))
    return np.stack(smoothed)


def measure_spectral(odds: np.ndarray) -> np.ndarray:
    """Spectral steps (8, h2, w2) of the boundary map with these log-odds (8, h, w), solved at half size."""
    boundary = 1 / (1 + np.exp(-odds.max(axis=0)))
    return measure_steps(halve_map(boundary[..., None])[..., 0])


def find_boundaries(odds: np.ndarray, steps: np.ndarray) -> tuple[np.ndarray, Arcs, np.ndarray]:
    """Basins (h, w) of the boundary map, their arcs, and the strongest direction of each pixel (h, w)."""
    both = odds + STEP_WEIGHT * enlarge(steps, odds.shape[1:])
    basins = find_basins(both.max(axis=0))
    return basins, find_arcs(basins), both.argmax(axis=0)


def weigh_arcs(
    arcs: Arcs, strongest: np.ndarray, contrasts: Contrasts, steps: np.ndarray, model: GpbModel
) -> np.ndarray:
    """Log-odds (n_arcs,) that people would separate the two sides of each arc."""
    # The sum is linear: one map is averaged along arcs instead of seventeen.
    weights = model.arc_weights
    total = contrasts.weigh(weights[:15])
    total += enlarge(weights[15] * steps + weights[16] * np.sqrt(steps), total.shape[1:])
    return average_along(arcs, total, strongest) + model.arc_bias


def enlarge(steps: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """Steps (8, h2, w2) at full size."""
    return np.stack([double_map(plane, shape) for plane in steps.astype(np.float32)])
