"""Local cues for boundaries: contrasts of half-discs, and textons (Martin, Fowlkes, Malik 2004).

A contrast is how unlike the two halves of a disc around each pixel are, for eight directions of the cut. Direction k
has the normal (cos, sin)(k pi / 8), x to the right and y downwards. A disc of sixteen wedges serves all directions:
turning the cut by one wedge only moves two opposite wedges to the other side, so that eight thin filters and a running
sum replace eight whole half-discs. A texton is the kind of texture at a pixel: lightness is filtered with oriented
edges, bars and one spot, and the nearest of the centres that k-means found in photographs is taken.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import cv2
import numpy as np

N_DIRECTIONS = 8
SAMPLES = 9  # per pixel side, when a wedge cuts through a pixel
EMPTY = 1e-6  # below this a bin holds nothing and cannot differ
N_FILTERS = 2 * N_DIRECTIONS + 1
SIGMA = 2.0  # pixels across an edge
ELONGATION = 3.0
REACH = 6  # of the filters, in pixels
FAINT = 3.0  # lightness units: responses are logarithmic above it, so that contrast counts less than pattern


def compare_histograms(histograms: np.ndarray, groups: np.ndarray, radius: float) -> np.ndarray:
    """(8, h, w, n_groups) root of the chi-square distance between the histograms of the two half-discs of a radius.

    `histograms` (h, w, n_bins) is the part of each pixel in each bin; `groups` (n_bins, n_groups) is 1 where a bin
    belongs to a group, within which distances are summed: in 0 .. 1 when each group's bins of each pixel sum to one.
    """
    _, disc = make_wedges(radius)
    total = filter_channels(histograms, disc)
    scale = np.sqrt(0.5 / np.maximum(total, EMPTY))
    rows = (difference * difference @ groups for difference in list_differences(histograms, radius, scale))
    return np.sqrt(np.maximum(np.stack(list(rows)), 0))


def compare_means(values: np.ndarray, radius: float) -> np.ndarray:
    """(8, h, w, channels) distance between the means of the two half-discs of a radius, channel by channel."""
    return np.stack([np.abs(difference) for difference in list_differences(values, radius)])


def list_differences(values: np.ndarray, radius: float, scale: np.ndarray | float = 1.0) -> Iterator[np.ndarray]:
    """Mean of one half-disc minus that of the other, times scale, for each direction in turn: (h, w, channels) each."""
    wedges, _ = make_wedges(radius)
    turned = [filter_channels(values, wedge) * np.float32(scale) for wedge in wedges]
    difference = sum(turned[1:], turned[0])
    for wedge in turned:
        yield difference
        difference = difference - 2 * wedge


def filter_channels(values: np.ndarray, kernel: np.ndarray) -> np.ndarray:
    """Filter every channel of (h, w, channels), the image mirrored at its border."""
    # OpenCV drops the last axis of a single channel.
    return cv2.filter2D(values, -1, kernel, borderType=cv2.BORDER_REFLECT).reshape(values.shape)


@cache
def make_wedges(radius: float) -> tuple[list[np.ndarray], np.ndarray]:
    """Filters of a disc: eight pairs of opposite wedges, one plus, one minus, and the whole; a half sums to one."""
    reach = int(np.ceil(radius))
    offsets = (np.arange((2 * reach + 1) * SAMPLES) + 0.5) / SAMPLES - (reach + 0.5)
    x, y = np.meshgrid(offsets, offsets)
    inside = x**2 + y**2 <= radius**2
    # The first direction's positive half, x > 0, begins at the angle -pi / 2.
    wedge_of = (np.mod(np.arctan2(y, x) + np.pi / 2, 2 * np.pi) * N_DIRECTIONS / np.pi).astype(int)
    covered = np.stack([inside & (wedge_of == k) for k in range(N_DIRECTIONS)])
    size = 2 * reach + 1
    shares = covered.reshape(N_DIRECTIONS, size, SAMPLES, size, SAMPLES).mean(axis=(2, 4)).astype(np.float32)
    shares /= shares.sum()
    # The opposite wedge is the same one turned about, to the last digit, so that a flat image has no contrast.
    opposite = shares[:, ::-1, ::-1]
    return list(shares - opposite), (shares + opposite).sum(axis=0)


def halve_map(values: np.ndarray) -> np.ndarray:
    """Mean over blocks of two by two pixels: (h, w, channels) to (ceil(h / 2), ceil(w / 2), channels)."""
    height, width = values.shape[:2]
    if height % 2 or width % 2:
        values = np.pad(values, ((0, height % 2), (0, width % 2), (0, 0)), mode="edge")
    return (values[::2, ::2] + values[1::2, ::2] + values[::2, 1::2] + values[1::2, 1::2]) * np.float32(0.25)


def double_map(values: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """Undo `halve_map` by linear interpolation: (h2, w2) or (h2, w2, channels) to the first two sizes of shape."""
    height, width = values.shape[:2]
    doubled = cv2.resize(values, (2 * width, 2 * height), interpolation=cv2.INTER_LINEAR)
    return doubled[: shape[0], : shape[1]]


def filter_texture(lightness: np.ndarray) -> np.ndarray:
    """(h, w, 17) responses of the filter bank to lightness (h, w) in 0 .. 100, their length compressed."""
    planes = [cv2.filter2D(lightness, -1, kernel, borderType=cv2.BORDER_REFLECT) for kernel in make_filters()]
    responses = np.stack(planes, axis=-1)
    lengths = np.sqrt((responses**2).sum(axis=-1, keepdims=True))
    return responses * (np.log1p(lengths / FAINT) / np.maximum(lengths, 1e-6))


def assign_textons(lightness: np.ndarray, centres: np.ndarray) -> np.ndarray:
    """(h, w) the nearest of the centres (n_textons, 17) to each pixel's responses."""
    responses = filter_texture(lightness).reshape(-1, N_FILTERS)
    closeness = responses @ centres.T - (centres**2).sum(axis=1) / 2
    return closeness.argmax(axis=1).reshape(lightness.shape)


@cache
def make_filters() -> list[np.ndarray]:
    """Edge and bar at each direction, and a spot: none answers to constant lightness, the taps' sizes sum to one."""
    y, x = np.mgrid[-REACH : REACH + 1, -REACH : REACH + 1].astype(np.float64)
    filters = []
    for angle in np.arange(N_DIRECTIONS) * np.pi / N_DIRECTIONS:
        across, along = x * np.cos(angle) + y * np.sin(angle), y * np.cos(angle) - x * np.sin(angle)
        bell = np.exp(-((across / SIGMA) ** 2 + (along / (ELONGATION * SIGMA)) ** 2) / 2)
        filters += [across * bell, ((across / SIGMA) ** 2 - 1) * bell]
    narrow, wide = (np.exp(-(x**2 + y**2) / (2 * sigma**2)) / sigma**2 for sigma in (SIGMA, 1.6 * SIGMA))
    balanced = [kernel - kernel.mean() for kernel in (*filters, narrow - wide)]
    return [(kernel / np.abs(kernel).sum()).astype(np.float32) for kernel in balanced]
