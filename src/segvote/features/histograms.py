"""`color` and `lbp`: histograms of the pixels of a segment, without any learning.

`color` has the nodes of a grid in CIE Lab as words; a pixel's weight is shared by the eight nodes around it, so that a
small change of light moves the histogram a little and never by a whole bin. The nodes lie densest around grey, where
most pixels of photographs are.

`lbp`, local binary patterns, is fine texture that does not change with brightness: the word of a pixel encodes which of
its eight neighbours at some distance are brighter (Ojala et al. 2002). Patterns with at most two changes around the
circle, 58 of 256, are words of their own; all others share one.
"""

from __future__ import annotations

import math
from typing import Any

import cv2
import numpy as np

from segvote.features.base import FeatureExtractor
from segvote.features.pooling import resize_image

LIGHTNESS = np.array([0, 20, 40, 60, 80, 100], np.float32)
CHROMA = np.array([-60, -20, -6, 6, 20, 60], np.float32)  # along a* and along b*
GRID = (len(LIGHTNESS), len(CHROMA), len(CHROMA))
N_WORDS = math.prod(GRID)


class ColorFeatures(FeatureExtractor):
    """Soft histograms over a fixed grid in CIE Lab."""

    blocks = (N_WORDS,)
    standardise = False

    def extract(self, image: np.ndarray, labels: np.ndarray) -> np.ndarray:
        return count_color_words(resize_image(image, *labels.shape), labels)

    def get_key(self) -> dict[str, Any]:
        return {"name": "color", "words": N_WORDS}


def count_color_words(image: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """(n_segments, n_words) float32: square roots of the shares of Lab words in each segment.

    Rows have length one: a scalar product is the Bhattacharyya coefficient of two colour distributions.
    """
    lab = cv2.cvtColor(image.astype(np.float32) / 255, cv2.COLOR_RGB2Lab).reshape(-1, 3)
    n_segments = int(labels.max()) + 1
    counts = np.zeros(n_segments * N_WORDS)
    lows, parts = zip(*map(_find_nodes, lab.T, (LIGHTNESS, CHROMA, CHROMA)), strict=True)
    words = np.ravel_multi_index(lows, GRID) + labels.ravel() * N_WORDS
    for corner in np.ndindex(2, 2, 2):
        along_l, along_a, along_b = (part if step else 1 - part for part, step in zip(parts, corner, strict=True))
        counts += np.bincount(words + np.ravel_multi_index(corner, GRID), along_l * along_a * along_b, len(counts))
    shares = counts.reshape(n_segments, N_WORDS)
    totals = shares.sum(axis=1, keepdims=True)
    return np.sqrt(shares / np.where(totals > 0, totals, 1)).astype(np.float32)


def _find_nodes(values: np.ndarray, nodes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Find the node below each value and how far the value lies towards the next, in [0, 1]."""
    places = np.interp(values, nodes, np.arange(len(nodes)))
    low = np.minimum(places.astype(np.int64), len(nodes) - 2)
    return low, (places - low).astype(np.float32)


# Local binary patterns -----------------------------------------------------------------------------------------------


RADII = (1, 2, 4)
N_PATTERNS = 59
CIRCLE = ((0, 1), (1, 1), (1, 0), (1, -1), (0, -1), (-1, -1), (-1, 0), (-1, 1))  # rows and columns, in radii
# For each code of eight bits: changes around the circle, and its word.
N_CHANGES = np.array([(code ^ ((code >> 1) | (code & 1) << 7)).bit_count() for code in range(256)])
WORDS = np.where(N_CHANGES <= 2, np.cumsum(N_CHANGES <= 2) - 1, N_PATTERNS - 1).astype(np.uint8)


class LbpFeatures(FeatureExtractor):
    """Histograms of uniform local binary patterns at three radii, on the square roots' scale."""

    blocks = (N_PATTERNS,) * len(RADII)
    standardise = False

    def extract(self, image: np.ndarray, labels: np.ndarray) -> np.ndarray:
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
    return WORDS[codes]


def _count_patterns(patterns: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Count patterns by segment; square roots of shares, so that a product is the Bhattacharyya coefficient."""
    n_segments = int(labels.max()) + 1
    keys = labels.ravel().astype(np.int64) * N_PATTERNS + patterns.ravel()
    counts = np.bincount(keys, minlength=n_segments * N_PATTERNS).reshape(n_segments, N_PATTERNS)
    return np.sqrt(counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)).astype(np.float32)
