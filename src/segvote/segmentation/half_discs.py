"""Oriented contrasts: how unlike the two halves of a disc around each pixel are, for eight directions of the cut.

Direction k has the normal (cos, sin)(k pi / 8), x to the right and y downwards. A disc of sixteen wedges serves all
directions: turning the cut by one wedge only moves two opposite wedges to the other side, so that eight thin filters
and a running sum replace eight whole half-discs.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import cv2
import numpy as np

N_DIRECTIONS = 8
SAMPLES = 9  # per pixel side, when a wedge cuts through a pixel
EMPTY = 1e-6  # below this a bin holds nothing and cannot differ


def compare_histograms(histograms: np.ndarray, groups: np.ndarray, radius: float) -> np.ndarray:
    """(8, h, w, n_groups) root of the chi-square distance between the histograms of the two half-discs of a radius.

    `histograms` (h, w, n_bins) is what each pixel adds to each bin; `groups` (n_bins, n_groups) is 1 where a bin
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
    shares = np.stack([average_samples(inside & (wedge_of == k)) for k in range(N_DIRECTIONS)])  # (8, size, size)
    shares /= shares.sum()
    # The opposite wedge is the same one turned about, to the last digit, so that a flat image has no contrast.
    opposite = shares[:, ::-1, ::-1]
    return list(shares - opposite), (shares + opposite).sum(axis=0)


def average_samples(covered: np.ndarray) -> np.ndarray:
    """Part of each pixel that is covered, from its samples."""
    n_pixels = len(covered) // SAMPLES
    return covered.reshape(n_pixels, SAMPLES, n_pixels, SAMPLES).mean(axis=(1, 3)).astype(np.float32)


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
