"""Truth as the public data sets store it: colour-coded labels, thresholded JPEG masks, trimaps, boxes of several kinds.

Readers of masks give (h, w) uint8 of 255 object, 128 ignore, 0 background; readers of boxes give (n, 4) float64 x0, y0,
x1, y1 with the ends left out.
"""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import numpy as np

from segvote.errors import BadInputError
from segvote.io.arrays import read_mat
from segvote.io.decoding import open_picture
from segvote.io.images import read_image
from segvote.io.masks import BACKGROUND, IGNORE, OBJECT

Colour = tuple[int, int, int]


def read_colour_mask(path: Path, object_colours: tuple[Colour, ...], ignore_colours: tuple[Colour, ...]) -> np.ndarray:
    """Read a label image in which a colour is a class."""
    codes = _encode_colours(read_image(path))
    mask = np.full(codes.shape, BACKGROUND, dtype=np.uint8)
    mask[np.isin(codes, _encode_colours(np.array(ignore_colours)))] = IGNORE
    mask[np.isin(codes, _encode_colours(np.array(object_colours)))] = OBJECT
    return mask


def measure_colours(path: Path) -> dict[Colour, float]:
    """Measure which part of a label image every colour covers."""
    codes, counts = np.unique(_encode_colours(read_image(path)), return_counts=True)
    colours = [(int(code >> 16), int(code >> 8 & 255), int(code & 255)) for code in codes]
    return dict(zip(colours, (counts / counts.sum()).tolist(), strict=True))


def _encode_colours(colours: np.ndarray) -> np.ndarray:
    """One number for each (..., 3) colour."""
    return colours.reshape(-1, 3).astype(np.int64).dot([1 << 16, 1 << 8, 1]).reshape(colours.shape[:-1])


def read_threshold_mask(path: Path) -> np.ndarray:
    """Read a two-valued mask that was saved as JPEG (or as 0 and 1): everything above half of its maximum is object."""
    with open_picture(path) as picture:
        grey = np.asarray(picture if picture.mode in ("1", "L") else picture.convert("L"), dtype=np.uint8)
    return np.where(2 * grey.astype(int) > grey.max(), OBJECT, BACKGROUND).astype(np.uint8)


def read_trimap(path: Path) -> np.ndarray:
    """Read a trimap of 1 object, 2 background, 3 not classified."""
    with open_picture(path) as picture:
        values = np.asarray(picture)
    if values.ndim != 2 or not np.isin(values, (1, 2, 3)).all():
        raise BadInputError(f"{path}: a trimap holds 1, 2 and 3 only, got {np.unique(values)[:6].tolist()}")
    return np.array([0, OBJECT, BACKGROUND, IGNORE], dtype=np.uint8)[values]


def order_corners(boxes: np.ndarray, size: tuple[int, int] | None = None) -> np.ndarray:
    """Put corners in order, clip them to the image (height, width), and drop boxes of which nothing is left.

    Of each of the (n, 4) boxes two opposite corners: some sets have left and right swapped, or corners outside of the
    image. Without a size negatives alone are clipped.
    """
    corners = np.asarray(boxes, dtype=float).reshape(-1, 2, 2)
    limits = (np.inf, np.inf) if size is None else (size[1], size[0])
    corners = np.clip(np.sort(corners, axis=1), 0, limits)
    ordered = corners.reshape(-1, 4)
    return ordered[np.all(ordered[:, 2:] > ordered[:, :2], axis=1)]


def read_stick_boxes(path: Path, size: tuple[int, int] | None = None) -> np.ndarray:
    """Read the boxes of a frame of YouTube-Objects v1.0: a cell array `coor` of four numbers each."""
    cells = read_mat(path, "coor")
    boxes = [np.ravel(cell) for cell in cells.ravel()] if cells.dtype == object else np.reshape(cells, (-1, 4))
    return order_corners(np.array([box for box in boxes if len(box) == 4]), size)


def read_voc_boxes(path: Path) -> dict[str, np.ndarray]:
    """Read a Pascal VOC annotation: class to boxes. VOC counts pixels from 1 and includes the last one."""
    try:
        root = ElementTree.parse(path).getroot()
    except (OSError, ElementTree.ParseError) as error:
        raise BadInputError(
            f"{path}: expected a VOC annotation, which this is not ({error}); unpack it again"
        ) from error
    boxes: dict[str, list[list[float]]] = {}
    for target in root.iter("object"):
        corners = [_read_side(target, side, path) for side in ("xmin", "ymin", "xmax", "ymax")]
        boxes.setdefault(target.findtext("name", "").strip(), []).append(corners)
    return {name: order_corners(np.array(corners) - [1, 1, 0, 0]) for name, corners in boxes.items()}


def _read_side(target: ElementTree.Element, side: str, path: Path) -> float:
    text = target.findtext(f"bndbox/{side}", "")
    try:
        return float(text)
    except ValueError as error:
        raise BadInputError(f"{path}: expected {side} to be a number, got {text!r:.40}; export it again") from error
