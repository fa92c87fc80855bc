"""Where the bags of a vote, which are in the order of the run, stand among those of the page."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, eq=False)
class Places:
    """The places of the bags of a vote, and of their segments, among those of the page.

    Where those that voted first vote, they are the first of the page: then both are slices, which copy nothing.
    """

    bags: slice | np.ndarray
    segments: slice | np.ndarray
    order: tuple[int, ...]  # the same as `bags`, as numbers

    def take(self, values: np.ndarray) -> np.ndarray:
        """(n_segments of the page,) to those of the vote."""
        return values[self.segments]

    def put(self, values: np.ndarray, others: np.ndarray) -> np.ndarray:
        """Values of the segments of the vote at their places, those of the other segments from `others`."""
        return _put(values, others, self.segments)

    def put_bags(self, values: np.ndarray, others: np.ndarray) -> np.ndarray:
        """As `put`, of bags."""
        return _put(values, others, self.bags)

    def mark(self, n_bags: int) -> np.ndarray:
        """(n_bags,) bool: the bags that vote."""
        return _put(np.ones(len(self.order), dtype=bool), np.zeros(n_bags, dtype=bool), self.bags)


def find_places(order: Iterable[int], offsets: np.ndarray) -> Places:
    """The places of bags by their numbers on the page, where the segments of each begin at `offsets`."""
    numbers = tuple(order)
    if numbers == tuple(range(len(numbers))):
        return Places(slice(0, len(numbers)), slice(0, int(offsets[len(numbers)])), numbers)
    segments = np.concatenate([np.arange(offsets[bag], offsets[bag + 1]) for bag in numbers])
    return Places(np.array(numbers), segments, numbers)


def _put(values: np.ndarray, others: np.ndarray, places: slice | np.ndarray) -> np.ndarray:
    if len(values) == len(others) and isinstance(places, slice):
        return values
    both = others.astype(values.dtype)
    both[places] = values
    return both
