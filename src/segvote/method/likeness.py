"""How alike segments are to one that the user corrected: a sharp kernel on their features, weaker in other images.

The corrections of a review reach as far as this kernel does and no farther: what is not alike is left to the bit.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
from scipy import sparse

# Width of the kernel, in squared distances from a segment to its tenth neighbour in other images. Sharp: at that
# distance a segment of the same image gets a twentieth of a correction.
WIDTH = 1 / 3
N_TYPICAL = 10
N_SAMPLED = 64
# A mistake is mostly one of its image: part of a correction that others get.
ELSEWHERE = 0.3
# Less than this counts for nothing.
LEAST = 0.01


class Likeness:
    """Columns of the kernel, each computed once, in the same way whatever is asked besides: equal to the last bit.

    Parameters
    ----------
    X
        (n_segments, d) features.
    bags
        (n_segments,) number of the image that each segment is of.
    """

    def __init__(self, X: np.ndarray, bags: np.ndarray) -> None:
        self._X, self._bags = X, bags
        self._known: dict[int, tuple[np.ndarray, np.ndarray]] = {}

    @cached_property
    def _norms(self) -> np.ndarray:
        return np.einsum("ij,ij->i", self._X, self._X)

    @cached_property
    def _width(self) -> float:
        """In squared distance, from a sample of segments; 0 where even the tenth neighbours are equal."""
        sample = np.unique(np.linspace(0, len(self._X) - 1, N_SAMPLED).astype(np.int64))
        found = [self._find_typical(int(segment)) for segment in sample]
        known = [distance for distance in found if np.isfinite(distance)]
        return WIDTH * float(np.median(known)) if known else 0.0

    def _find_typical(self, segment: int) -> float:
        others = self._measure(segment)[self._bags != self._bags[segment]]
        place = min(N_TYPICAL, len(others)) - 1
        return float(np.partition(others, place)[place]) if len(others) else np.inf

    def _measure(self, segment: int) -> np.ndarray:
        """(n_segments,) squared distances; no matrix product, whose rounding depends on threads."""
        products = np.einsum("ij,j->i", self._X, self._X[segment])
        return np.maximum(self._norms + self._norms[segment] - 2 * products, 0)

    def _get_column(self, segment: int) -> tuple[np.ndarray, np.ndarray]:
        """Segments alike to one, and how much, itself 1."""
        if segment not in self._known:
            distances = self._measure(segment).astype(np.float64)
            alike = np.exp(-distances / self._width) if self._width > 0 else (distances <= 0).astype(np.float64)
            alike[self._bags != self._bags[segment]] *= ELSEWHERE
            alike[segment] = 1.0
            near = np.flatnonzero(alike >= LEAST)
            self._known[segment] = near, alike[near]
        return self._known[segment]

    def prepare(self) -> None:
        """Measure now what the first correction would wait for."""
        _ = self._width

    def join(self, segments: np.ndarray) -> sparse.csc_matrix:
        """(n_segments, len(segments)): how alike every segment is to each of these, in [0, 1]."""
        columns = [self._get_column(int(segment)) for segment in segments]
        ends = np.cumsum([0, *(len(near) for near, _ in columns)])
        near = np.concatenate([near for near, _ in columns]) if columns else np.empty(0, dtype=np.int64)
        alike = np.concatenate([alike for _, alike in columns]) if columns else np.empty(0)
        return sparse.csc_matrix((alike, near, ends), shape=(len(self._X), len(columns)))
