"""`lbp`: local binary patterns, a fast description of fine texture that does not change with brightness.

A pixel's word says which of its eight neighbours at some distance are brighter than it (Ojala et al. 2002).
Patterns with at most two changes around the circle, 58 of 256, are words of their own; all others share one.
"""

from __future__ import annotations

from typing import Any

import cv2
import numpy as np

from segvote.features.base import FeatureExtractor, check_inputs
from segvote.features.resizing import resize_image

RADII = (1, 2, 4)
N_PATTERNS = 59
CIRCLE = ((0, 1), (1, 1), (1, 0), (1, -1), (0, -1), (-1, -1), (-1, 0), (-1, 1))  # rows and columns, in radii


class LbpFeatures(FeatureExtractor):
    """Histograms of uniform local binary patterns at three radii, on the square roots' scale."""

    blocks = (N_PATTERNS,) * len(RADII)
    standardise = False

    def extract(self, image: np.ndarray, labels: np.ndarray) -> np.ndarray:
        check_inputs(image, labels)
        gray = cv2.cvtColor(resize_image(image, *labels.shape), cv2.COLOR_RGB2GRAY)
        return np.hstack([_count_patterns(find_patterns(gray, radius), labels) for radius in RADII])

    def get_key(self) -> dict[str, Any]:
        return {"name": "lbp", "radii": list(RADII)}


def find_patterns(gray: np.ndarray, radius: int) -> np.ndarray:
    """(h, w) each pixel's pattern: 0 .. 57 uniform ones in the order of their bits, 58 for all others.

    `gray` is uint8, mirrored beyond the border; the neighbours are `radius` pixels away.
    """
    height, width = gray.shape
    padded = np.pad(gray, radius, mode="symmetric") if min(gray.shape) >= radius else np.pad(gray, radius, mode="edge")
    codes = np.zeros(gray.shape, np.uint8)
    for bit, (row, column) in enumerate(CIRCLE):
        top, left = radius * (1 + row), radius * (1 + column)
        codes |= (padded[top : top + height, left : left + width] > gray).astype(np.uint8) << bit
    return _WORDS[codes]


def _count_changes(code: int) -> int:
    turned = (code >> 1) | (code & 1) << 7
    return (code ^ turned).bit_count()


def _make_words() -> np.ndarray:
    words = np.full(256, N_PATTERNS - 1, np.uint8)
    uniform = [code for code in range(256) if _count_changes(code) <= 2]
    words[uniform] = np.arange(len(uniform))
    return words


_WORDS = _make_words()


def _count_patterns(patterns: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Count patterns by segment; square roots of shares, so that a product is the Bhattacharyya coefficient."""
    n_segments = int(labels.max()) + 1
    keys = labels.ravel().astype(np.int64) * N_PATTERNS + patterns.ravel()
    counts = np.bincount(keys, minlength=n_segments * N_PATTERNS).reshape(n_segments, N_PATTERNS)
    return np.sqrt(counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)).astype(np.float32)
