"""A user's own segments, found by the name of the image: label maps, or published contour maps (``ucm2``)."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from tokenize import TokenError

import numpy as np

from segvote.errors import BadInputError
from segvote.io.arrays import read_ucm
from segvote.io.decoding import MAX_PIXELS, open_picture
from segvote.io.images import hash_file
from segvote.run.bags import Bag
from segvote.segmentation.hierarchy import build_segmentation
from segvote.segmentation.labels import check_labels
from segvote.types import Segmentation

CONTOURS = ".mat"
EXTENSIONS = (".png", ".tif", ".tiff", ".npy", CONTOURS)
# From the image at working size, (h, w, 3), and the most segments, to its segmentation.
SegmentByMap = Callable[[np.ndarray, int], Segmentation]


class LabelMaps:
    """Called with a bag; gives the content hash of its file and what segments the image by it.

    Files are named like the image, nested alike below the folder; ``with`` or ``without`` on top may be left out.
    A label map (``.png`` of 8 or 16 bit, ``.tif`` or ``.npy``) is used as it is, with a tree by Ward's rule; a contour
    map (``.mat``) is cut to the number of segments asked for, with its own tree.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @classmethod
    def open(cls, folder: Path | str | None) -> LabelMaps | None:
        if folder is None:
            return None
        if not Path(folder).is_dir():
            raise BadInputError(f"expected a folder of label maps or ucm2 files at {folder}; check --segments")
        return cls(Path(folder))

    def __call__(self, bag: Bag) -> tuple[str, SegmentByMap]:
        path = self._find(bag)
        segment = _segment_by_contours if path.suffix == CONTOURS else _segment_by_labels
        return hash_file(path), lambda working, n_segments: segment(path, working, n_segments)

    def _find(self, bag: Bag) -> Path:
        below = bag.name.split("/", 1)[1]
        for name in (bag.name, below):
            for extension in EXTENSIONS:
                path = (self.folder / name).with_suffix(extension)
                if path.is_file():
                    return path
        raise BadInputError(
            f"{bag.name}: no label map in {self.folder}; expected {Path(below).stem} with .png, .tif, .npy or .mat"
        )


def _segment_by_labels(path: Path, working: np.ndarray, n_segments: int) -> Segmentation:
    return build_segmentation(working, check_labels(_read_labels(path), working.shape[:2]))


def _segment_by_contours(path: Path, working: np.ndarray, n_segments: int) -> Segmentation:
    height, width = working.shape[:2]
    try:
        from segvote.segmentation.ucm import segment_ucm

        return segment_ucm(read_ucm(path), n_segments, (height, width))
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
