"""The same picture twice: to the byte, or to the eye.

A picture is summed up in 242 bits: is a cell of a small grey version darker than its right, than its lower neighbour?
Another size, another format or another compression changes few of them, another picture about half.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import cv2
import numpy as np

from segvote.errors import UnreadableImageError
from segvote.io.images import read_image
from segvote.progress import Progress, count_along, ignore_progress
from segvote.run.bags import Bag

GRID = 11  # cells of the small version, and one more for the differences
# Of 242 bits: what recompressing and resizing change stays far below, other pictures lie at about 90 and more.
MAX_DIFFERENT = 12


@dataclass(frozen=True)
class NearDuplicate:
    """Two images that are the same: `exact` to the byte, otherwise to the eye."""

    one: str
    other: str
    one_label: str
    other_label: str
    exact: bool

    @property
    def across(self) -> bool:
        """Whether they lie in different folders."""
        return self.one_label != self.other_label

    def get_label(self, name: str) -> str:
        return self.one_label if name == self.one else self.other_label


def find_duplicates(bags: Sequence[Bag], progress: Progress = ignore_progress) -> list[NearDuplicate]:
    """Pairs of equal images among bags, each image with the first it equals."""
    hashes, kept = [], []
    for bag in count_along(bags, "look for duplicates", len(bags), progress):
        try:
            hashes.append(hash_picture(read_image(bag.path)))
        except UnreadableImageError:
            continue
        kept.append(bag)
    if not kept:
        return []
    bits = np.array(hashes)
    duplicates = []
    for index in range(1, len(kept)):
        different = (bits[:index] != bits[index]).sum(axis=1)
        exact = np.array([bag.digest == kept[index].digest for bag in kept[:index]])
        near = np.flatnonzero(exact | (different <= MAX_DIFFERENT))
        if len(near):
            # An exact duplicate before a near one, one in the other folder before one in its own.
            best = min(near, key=lambda i: (not exact[i], kept[i].bag_label == kept[index].bag_label, i))
            one, other = kept[best], kept[index]
            duplicates.append(NearDuplicate(one.name, other.name, one.bag_label, other.bag_label, bool(exact[best])))
    return duplicates


def hash_picture(image: np.ndarray) -> np.ndarray:
    """(h, w, 3) uint8 to (242,) bool: signs of the differences between neighbouring cells.

    A plain picture, whose differences are noise, has all bits False.
    """
    grey = cv2.cvtColor(image, cv2.COLOR_RGB2GRAY)
    small = cv2.resize(grey, (GRID + 1, GRID + 1), interpolation=cv2.INTER_AREA).astype(np.int16)
    right = small[:-1, 1:] - small[:-1, :-1] > 1
    down = small[1:, :-1] - small[:-1, :-1] > 1
    return np.concatenate([right.ravel(), down.ravel()])
