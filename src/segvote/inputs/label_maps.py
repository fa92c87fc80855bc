"""Segments of the user, found by the name of the image: label maps, or published contour maps (``ucm2``)."""

from __future__ import annotations

from pathlib import Path
from tokenize import TokenError

import numpy as np

from segvote.errors import BadInputError
from segvote.inputs.bags import Bag
from segvote.io.arrays import read_ucm
from segvote.io.decoding import MAX_PIXELS, open_picture
from segvote.segmentation.hierarchy import build_segmentation
from segvote.segmentation.labels import check_labels
from segvote.types import Segmentation

CONTOURS = ".mat"
EXTENSIONS = (".png", ".tif", ".tiff", ".npy", CONTOURS)


def check_label_maps(folder: Path | str | None) -> Path | None:
    """The folder of label maps, which must exist; None where none was given."""
    if folder is not None and not Path(folder).is_dir():
        raise BadInputError(f"expected a folder of label maps or ucm2 files at {folder}; check --segments")
    return None if folder is None else Path(folder)


def find_label_map(folder: Path, bag: Bag) -> Path:
    """The file named like the image, nested alike; ``with`` or ``without`` on top may be left out."""
    below = bag.name.split("/", 1)[1]
    for name in (bag.name, below):
        for extension in EXTENSIONS:
            path = (folder / name).with_suffix(extension)
            if path.is_file():
                return path
    raise BadInputError(
        f"{bag.name}: no label map in {folder}; expected {Path(below).stem} with .png, .tif, .npy or .mat"
    )


def segment_by_map(path: Path, working: np.ndarray, n_segments: int) -> Segmentation:
    """Segments of an image at working size, (h, w, 3).

    A label map (``.png`` of 8 or 16 bit, ``.tif`` or ``.npy``) is used as it is, with a tree by Ward's rule; a contour
    map (``.mat``) is cut to the number of segments asked for, with its own tree.
    """
    if path.suffix != CONTOURS:
        return build_segmentation(working, check_labels(_read_labels(path), working.shape[:2]))
    from segvote.segmentation.ucm import segment_ucm

    try:
        return segment_ucm(read_ucm(path), n_segments, (working.shape[0], working.shape[1]))
    except BadInputError as error:
        raise BadInputError(f"{path.name}: {error}") from error


def _read_labels(path: Path) -> np.ndarray:
    try:
        if path.suffix == ".npy":
            # Mapped, not read: a file may claim a size that no memory holds.
            labels = np.load(path, allow_pickle=False, mmap_mode="r")
            if labels.size > MAX_PIXELS:
                raise BadInputError(f"it has {labels.size} pixels; at most {MAX_PIXELS} are accepted")
            return np.array(labels)
        with open_picture(path) as picture:
            return np.array(picture)
    except (OSError, ValueError, EOFError, SyntaxError, TokenError) as error:
        raise BadInputError(f"{path} cannot be read as a label map ({error}); save it as PNG or npy") from error
