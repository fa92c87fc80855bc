"""Square cut-outs around single segments, for pages that explain a score."""

from __future__ import annotations

import cv2
import numpy as np

from segvote.errors import BadInputError
from segvote.io.images import resize_labels
from segvote.run.run import Run

# Longest side of the image that a crop is cut from, and of the crop.
CROP_SOURCE_SIZE, CROP_SIZE = 800, 176


def check_segment(run: Run, bag: int, segment: int) -> None:
    """Reject the number of a segment that a bag does not have."""
    n_segments = run.bags[bag].n_segments  # a frame of a video need not show them all
    if not 0 <= segment < n_segments:
        raise BadInputError(f"image {bag} has {n_segments} segments; got segment {segment}")


def draw_crop(run: Run, bag: int, segment: int, image: np.ndarray) -> np.ndarray:
    """(h, w, 3) uint8 square cut-out of an image (height, width, 3) around a segment, its surroundings darkened."""
    mask = resize_labels(run.read_segments(bag)["labels"] == segment, image.shape[:2])
    rows, columns = _find_window(mask)
    return _frame(image[rows, columns], mask[rows, columns])


def _find_window(mask: np.ndarray) -> tuple[slice, slice]:
    """Square around a mask with a margin, inside the picture."""
    rows, columns = np.flatnonzero(mask.any(axis=1)), np.flatnonzero(mask.any(axis=0))
    if len(rows) == 0:  # a segment too thin for the smaller picture
        return slice(None), slice(None)
    centre = (int(rows.mean()), int(columns.mean()))
    side = max(int(1.9 * max(np.ptp(rows), np.ptp(columns))), min(mask.shape) // 5, 8)
    starts = [
        min(max(0, middle - side // 2), max(0, full - side)) for middle, full in zip(centre, mask.shape, strict=True)
    ]
    return slice(starts[0], starts[0] + side), slice(starts[1], starts[1] + side)


def _frame(image: np.ndarray, mask: np.ndarray) -> np.ndarray:
    """Darken the surroundings of a segment, draw its outline, resize to a crop."""
    scale = CROP_SIZE / max(image.shape[:2])
    size = (max(1, round(image.shape[1] * scale)), max(1, round(image.shape[0] * scale)))
    picture = cv2.resize(
        np.ascontiguousarray(image), size, interpolation=cv2.INTER_AREA if scale < 1 else cv2.INTER_CUBIC
    )
    inside = cv2.resize(mask.astype(np.uint8), size, interpolation=cv2.INTER_NEAREST)
    shown = np.where(inside[..., None] > 0, picture, (picture * 0.45).astype(np.uint8))
    outlines, _ = cv2.findContours(inside, cv2.RETR_CCOMP, cv2.CHAIN_APPROX_NONE)
    cv2.drawContours(shown, outlines, -1, (255, 255, 255), 1)
    return shown
