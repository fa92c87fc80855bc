"""Single objects of an image: cut by lines, joined, and sent to the page."""

from __future__ import annotations

import gzip
from collections.abc import Sequence

import cv2
import numpy as np
from scipy import ndimage

from segvote.errors import BadInputError
from segvote.io.images import resize_labels
from segvote.review.masks import fit_size
from segvote.run.correction_log import Action
from segvote.run.strokes import label_instances

# Most instances that are sent to the page: a fragmented mask has more, and the list would be too long to read.
MAX_LISTED = 1000


def check_divides(mask: np.ndarray, divisions: Sequence[Action], cut: Action) -> None:
    """Refuse a cut after which a mask (h, w) has no more instances than the divisions before it left."""
    before, after = (label_instances(mask, several).max(initial=0) for several in (divisions, [*divisions, cut]))
    if after <= before:
        raise BadInputError("the line divides no object; draw it through one, from edge to edge")


def find_joined(instances: np.ndarray, places: np.ndarray) -> np.ndarray:
    """(h, w) bool: the instances (h, w) under places (n, 2), x and y; refused where they are fewer than two."""
    columns, rows = np.floor(places).astype(int).T
    inside = (rows >= 0) & (columns >= 0) & (rows < instances.shape[0]) & (columns < instances.shape[1])
    chosen = np.unique(instances[rows[inside], columns[inside]])
    chosen = chosen[chosen > 0]
    if len(chosen) < 2:
        raise BadInputError(f"expected places on at least two objects; got {len(chosen)}; look again, then join")
    return np.isin(instances, chosen)


def measure_instances(instances: np.ndarray) -> np.ndarray:
    """(n, 7) area; left, top, width, height; x and y of the pixel deepest inside, for each number from 1 of (h, w)."""
    rows = []
    for number, (vertical, horizontal) in enumerate(ndimage.find_objects(instances)[:MAX_LISTED], start=1):
        own = np.pad(instances[vertical, horizontal] == number, 1)
        depth = cv2.distanceTransform(own.astype(np.uint8), cv2.DIST_L2, 3)
        row, column = np.unravel_index(np.argmax(depth), depth.shape)
        left, top = horizontal.start, vertical.start
        box = (left, top, horizontal.stop - left, vertical.stop - top)
        rows.append((np.count_nonzero(own), *box, left + column - 1, top + row - 1))
    return np.array(rows, dtype=np.uint32).reshape(-1, 7)


def encode_instances(instances: np.ndarray, longest: int) -> bytes:
    """Instances (h, w), gzipped.

    Height and width of the map, how many are listed, how many there are (4 x uint32); of each that is listed what
    `measure_instances` says (7 x uint32); then one uint16 per pixel of the map, 0 where there is none that is listed.
    """
    measured = measure_instances(instances)
    shown = resize_labels(instances, fit_size(instances.shape, longest))
    shown = np.where(shown <= len(measured), shown, 0).astype("<u2")
    head = np.array([*shown.shape, len(measured), instances.max(initial=0)], dtype="<u4")
    content = head.tobytes() + measured.astype("<u4").tobytes() + shown.tobytes()
    return gzip.compress(content, compresslevel=6, mtime=0)
