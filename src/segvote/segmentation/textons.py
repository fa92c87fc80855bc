"""Textons: which of a few kinds of local texture each pixel shows (Malik 2001).

The lightness is filtered with oriented edges and bars and one spot; a pixel's texton is the nearest of a list of
centres that k-means found in photographs.
"""

from __future__ import annotations

from functools import cache

import cv2
import numpy as np

from segvote.segmentation.half_discs import N_DIRECTIONS

N_FILTERS = 2 * N_DIRECTIONS + 1
SIGMA = 2.0  # pixels across an edge
ELONGATION = 3.0
REACH = 6
FAINT = 3.0  # lightness units: responses are logarithmic above it, so that contrast counts less than pattern


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
    filters.append(_make_bell(x, y, SIGMA) - _make_bell(x, y, 1.6 * SIGMA))
    return [_balance_filter(kernel) for kernel in filters]


def _make_bell(x: np.ndarray, y: np.ndarray, sigma: float) -> np.ndarray:
    return np.exp(-(x**2 + y**2) / (2 * sigma**2)) / sigma**2


def _balance_filter(kernel: np.ndarray) -> np.ndarray:
    balanced = kernel - kernel.mean()
    return (balanced / np.abs(balanced).sum()).astype(np.float32)
