"""`color`: which colours a segment has, as a soft histogram over fixed Lab words.

The words are the nodes of a grid in CIE Lab; a pixel's weight is shared by the eight nodes around it, so that a small
change of light moves the histogram a little and never by a whole bin. The nodes lie densest around grey, where most
pixels of photographs are.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import cv2
import numpy as np

from segvote.features.base import FeatureExtractor, check_inputs
from segvote.features.resizing import resize_image

LIGHTNESS = np.array([0, 20, 40, 60, 80, 100], np.float32)
CHROMA = np.array([-60, -20, -6, 6, 20, 60], np.float32)  # along a* and along b*
GRID = (len(LIGHTNESS), len(CHROMA), len(CHROMA))
N_WORDS = math.prod(GRID)


class ColorFeatures(FeatureExtractor):
    """Soft histograms over a fixed grid in CIE Lab."""

    blocks = (N_WORDS,)
    standardise = False

    def extract(self, image: np.ndarray, labels: np.ndarray) -> np.ndarray:
        check_inputs(image, labels)
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
    words, corners = _share_pixels(lab)
    words += labels.ravel() * N_WORDS
    for step, weights in corners:
        counts += np.bincount(words + step, weights, len(counts))
    shares = counts.reshape(n_segments, N_WORDS)
    totals = shares.sum(axis=1, keepdims=True)
    return np.sqrt(shares / np.where(totals > 0, totals, 1)).astype(np.float32)


def _share_pixels(lab: np.ndarray) -> tuple[np.ndarray, Iterator[tuple[int, np.ndarray]]]:
    """Find the lowest of the eight words around each pixel, and for all eight the step to them and their weights."""
    nodes = (LIGHTNESS, CHROMA, CHROMA)
    (low_l, part_l), (low_a, part_a), (low_b, part_b) = (_find_nodes(lab[:, i], nodes[i]) for i in range(3))
    sides = [(1 - part, part) for part in (part_l, part_a, part_b)]
    corners = (
        (int(np.ravel_multi_index((i, j, k), GRID)), sides[0][i] * sides[1][j] * sides[2][k])
        for i, j, k in np.ndindex(2, 2, 2)
    )
    return np.ravel_multi_index((low_l, low_a, low_b), GRID), corners


def _find_nodes(values: np.ndarray, nodes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Find the node below each value and how far the value lies towards the next, in [0, 1]."""
    places = np.interp(values, nodes, np.arange(len(nodes)))
    low = np.minimum(places.astype(np.int64), len(nodes) - 2)
    return low, (places - low).astype(np.float32)
