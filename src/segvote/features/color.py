"""`color`: which colours a segment has, as a soft histogram over fixed Lab words.

The words are the nodes of a grid in CIE Lab; a pixel's weight is shared by the eight nodes around it, so that a small
change of light moves the histogram a little and never by a whole bin. The nodes lie densest around grey, where most
pixels of photographs are.
"""

from __future__ import annotations

from typing import Any

import cv2
import numpy as np

from segvote.features.base import FeatureExtractor, check_inputs
from segvote.features.resizing import resize_image

__all__ = ["ColorFeatures", "count_color_words"]

LIGHTNESS = np.array([0, 20, 40, 60, 80, 100], np.float32)
CHROMA = np.array([-60, -20, -6, 6, 20, 60], np.float32)  # along a* and along b*
N_WORDS = len(LIGHTNESS) * len(CHROMA) ** 2


class ColorFeatures(FeatureExtractor):
    """Soft histograms over a fixed grid in CIE Lab."""

    blocks = (N_WORDS,)
    standardise = False

    def describe(self, image: np.ndarray, labels: np.ndarray) -> np.ndarray:
        check_inputs(image, labels)
        return count_color_words(resize_image(image, *labels.shape), labels)

    def get_key(self) -> dict[str, Any]:
        return {"name": "color", "words": N_WORDS}


def count_color_words(image: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Count the Lab words of each segment.

    Parameters
    ----------
    image
        (h, w, 3) uint8 RGB.
    labels
        (h, w) integers 0 .. n-1.

    Returns
    -------
    ndarray
        (n_segments, n_words) float32, square roots of the words' shares: each row has length one, and a scalar product
        is the Bhattacharyya coefficient of two colour distributions.
    """
    lab = cv2.cvtColor(image.astype(np.float32) / 255, cv2.COLOR_RGB2Lab).reshape(-1, 3)
    n_segments = int(labels.max()) + 1
    counts = np.zeros(n_segments * N_WORDS)
    for words, weights in _share_pixels(lab):
        counts += np.bincount(labels.ravel() * N_WORDS + words, weights, n_segments * N_WORDS)
    shares = counts.reshape(n_segments, N_WORDS)
    totals = shares.sum(axis=1, keepdims=True)
    return np.sqrt(shares / np.where(totals > 0, totals, 1)).astype(np.float32)


def _share_pixels(lab: np.ndarray):  # type: ignore[no-untyped-def]
    """Yield the eight words around each pixel and the pixel's weight for each."""
    sides = [_find_nodes(lab[:, axis], nodes) for axis, nodes in enumerate((LIGHTNESS, CHROMA, CHROMA))]
    (low_l, part_l), (low_a, part_a), (low_b, part_b) = sides
    for up_l in (0, 1):
        for up_a in (0, 1):
            for up_b in (0, 1):
                words = ((low_l + up_l) * len(CHROMA) + low_a + up_a) * len(CHROMA) + low_b + up_b
                weights = abs(1 - up_l - part_l) * abs(1 - up_a - part_a) * abs(1 - up_b - part_b)
                yield words, weights


def _find_nodes(values: np.ndarray, nodes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Find the node below each value and how far the value lies towards the next, in [0, 1]."""
    places = np.interp(values, nodes, np.arange(len(nodes)))
    low = np.minimum(places.astype(np.int64), len(nodes) - 2)
    return low, (places - low).astype(np.float32)
