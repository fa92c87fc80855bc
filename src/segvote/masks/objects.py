"""Single objects of a mask: its connected pieces, or touching objects split at their necks.

A piece is split by its distance transform: each maximum that rises above its surroundings by a share of the piece's
depth is the core of an object, and a watershed divides the piece between the cores.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import cv2
import numpy as np
import scipy  # ndimage is loaded when used

# Values of the option --objects.
OBJECTS = {
    "auto": "touching where the pieces of the run are clusters of convex objects, otherwise pieces",
    "one": "one object per image, all pieces of its mask together",
    "touching": "connected pieces, and touching objects split at their necks",
    "pieces": "every connected piece is an object",
}
# A core rises above the neck to a deeper one by this share of the largest depth of its piece.
NECK = 0.2
# Pixels of the box of a piece when it is split; a larger one is reduced.
SPLIT_PIXELS = 2**17
# A cluster is a piece whose parts have at least this solidity, and more than the piece by at least this much.
MIN_SOLIDITY, MIN_GAIN = 0.9, 0.05
# Objects of a run touch if its images have at least this many on average, and at least this share of its object area,
# and of its objects, lies in clusters.
MIN_OBJECTS, MIN_CLUSTERED = 3.0, 0.15


def label_objects(mask: np.ndarray, objects: str) -> np.ndarray:
    """(h, w) int32: the objects of a mask (h, w) bool, numbered from 1; 0 background.

    `objects` is a name of `OBJECTS` other than *auto*. Pieces are 8-connected.
    """
    if objects == "one":
        return mask.astype(np.int32)
    _, pieces = cv2.connectedComponents(mask.astype(np.uint8), connectivity=8, ltype=cv2.CV_32S)
    return split_pieces(pieces) if objects == "touching" else pieces


def list_objects(mask: np.ndarray, objects: str) -> list[np.ndarray]:
    """The objects of `label_objects` as masks (h, w) bool."""
    labels = label_objects(mask, objects)
    return [labels == number for number in range(1, int(labels.max(initial=0)) + 1)]


def split_pieces(pieces: np.ndarray) -> np.ndarray:
    """Pieces (h, w) int32 from 1, with touching objects as pieces of their own; the first keeps the number."""
    numbered, n_objects = pieces.copy(), int(pieces.max(initial=0))
    for number, box in enumerate(scipy.ndimage.find_objects(pieces), start=1):
        if box is None:
            continue
        parts = split_piece(pieces[box] == number)
        numbered[box][parts > 1] = parts[parts > 1] + n_objects - 1
        n_objects += int(parts.max()) - 1
    return numbered


def split_piece(piece: np.ndarray) -> np.ndarray:
    """(h, w) int32: the objects of one piece (h, w) bool cropped to its box, from 1; 0 background."""
    scale = min(1.0, float(np.sqrt(SPLIT_PIXELS / piece.size)))
    size = [max(1, round(side * scale)) for side in piece.shape]
    small = np.pad(cv2.resize(piece.astype(np.uint8), size[::-1], interpolation=cv2.INTER_NEAREST), 1)
    parts = _divide_at_necks(small)
    if parts.max() < 2:
        return piece.astype(np.int32)
    parts = cv2.resize(parts[1:-1, 1:-1], piece.shape[::-1], interpolation=cv2.INTER_NEAREST)
    _, (rows, columns) = scipy.ndimage.distance_transform_edt(parts == 0, return_indices=True)
    return np.where(piece, parts[rows, columns], 0).astype(np.int32)


def _divide_at_necks(piece: np.ndarray) -> np.ndarray:
    """(h, w) int32 objects of a piece (h, w) uint8 that is framed by background."""
    # Slow to import.
    from skimage.morphology import local_maxima, reconstruction
    from skimage.segmentation import watershed

    depth = cv2.distanceTransform(piece, cv2.DIST_L2, cv2.DIST_MASK_PRECISE).astype(np.float64)
    # Maxima that rise by less are cut down to the level of the surroundings; those that remain are flat and connected.
    levelled = reconstruction(depth - NECK * depth.max(), depth)
    _, cores = cv2.connectedComponents(local_maxima(levelled).astype(np.uint8) & piece, connectivity=8)
    return np.asarray(watershed(-depth, cores, mask=piece > 0), dtype=np.int32)


# Whether the objects of a run touch -----------------------------------------------------------------------------------


class PieceShape(NamedTuple):
    """The shape of one piece, and of the objects that it would be split into."""

    area: float  # share of the image
    solidity: float  # area by that of its convex hull
    n_parts: int
    part_solidity: float  # mean over the parts, weighted by area

    @property
    def is_cluster(self) -> bool:
        """Whether it looks like several convex objects that touch."""
        gain = self.part_solidity - self.solidity
        return self.n_parts > 1 and self.part_solidity >= MIN_SOLIDITY and gain >= MIN_GAIN


def count_objects(images: Sequence[Sequence[PieceShape]]) -> float:
    """Mean number of objects of an image, its pieces split at their necks."""
    return sum(shape.n_parts for pieces in images for shape in pieces) / max(len(images), 1)


def judge_touching(images: Sequence[Sequence[PieceShape]]) -> tuple[bool, str]:
    """Whether the objects of a run touch, by the shapes of the pieces of its images, and the reason for the report."""
    shapes, n_objects = [shape for pieces in images for shape in pieces], count_objects(images)
    if n_objects < MIN_OBJECTS:
        return False, f"{n_objects:.1f} objects in an image are too few to form clusters"
    clusters = [shape for shape in shapes if shape.is_cluster]
    by_area = sum(one.area for one in clusters) / sum(one.area for one in shapes)
    by_count = sum(one.n_parts for one in clusters) / sum(one.n_parts for one in shapes)
    reason = f"{by_area:.0%} of the area and {by_count:.0%} of the objects lie in clusters of convex parts"
    return min(by_area, by_count) >= MIN_CLUSTERED, reason


def measure_shapes(mask: np.ndarray) -> list[PieceShape]:
    """The shapes of the pieces of a mask (h, w) bool."""
    _, pieces = cv2.connectedComponents(mask.astype(np.uint8), connectivity=8, ltype=cv2.CV_32S)
    shapes = []
    for number, box in enumerate(scipy.ndimage.find_objects(pieces), start=1):
        piece = pieces[box] == number
        parts = split_piece(piece)
        n_parts = int(parts.max())
        solidities = [measure_solidity(parts == part) for part in range(1, n_parts + 1)]
        mean = float(np.average(solidities, weights=np.bincount(parts.ravel())[1:]))
        shapes.append(PieceShape(np.count_nonzero(piece) / mask.size, measure_solidity(piece), n_parts, mean))
    return shapes


def measure_solidity(piece: np.ndarray) -> float:
    """Area of a piece (h, w) bool by that of the convex hull of its pixels, in (0, 1]."""
    # The hull of all four corners of each pixel, so that a single pixel is as convex as a square.
    rows, columns = np.nonzero(piece ^ scipy.ndimage.binary_erosion(piece))
    corners = np.concatenate([np.column_stack([columns + x, rows + y]) for x in (0, 1) for y in (0, 1)])
    hull = cv2.convexHull(corners.astype(np.int32))
    return float(np.count_nonzero(piece) / max(cv2.contourArea(hull), 1.0))
