"""A user's own label maps, found by the name of the image."""

from __future__ import annotations

from pathlib import Path
from tokenize import TokenError

import numpy as np

from segvote.errors import BadInputError
from segvote.io.decoding import MAX_PIXELS, open_picture
from segvote.io.images import hash_file
from segvote.pipeline.bags import Bag
from segvote.segmentation.labels import check_labels

__all__ = ["LabelMaps"]

EXTENSIONS = (".png", ".tif", ".tiff", ".npy")


class LabelMaps:
    """Called with a bag and the working size; gives the content hash and the label map of its file.

    Files are named like the image, with ``.png`` (8 or 16 bit), ``.tif`` or ``.npy``, in the same nesting below the
    folder, with or without the tag's folder on top.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @classmethod
    def open(cls, folder: Path | str | None) -> LabelMaps | None:
        if folder is None:
            return None
        if not Path(folder).is_dir():
            raise BadInputError(f"expected a folder of label maps at {folder}; check --segments")
        return cls(Path(folder))

    def __call__(self, bag: Bag, shape: tuple[int, int]) -> tuple[str, np.ndarray]:
        path = self._find(bag)
        return hash_file(path), check_labels(_read(path), shape)

    def _find(self, bag: Bag) -> Path:
        below = bag.name.split("/", 1)[1]
        for name in (bag.name, below):
            for extension in EXTENSIONS:
                path = (self.folder / name).with_suffix(extension)
                if path.is_file():
                    return path
        raise BadInputError(
            f"{bag.name}: no label map in {self.folder}; expected {Path(below).stem} with .png, .tif or .npy"
        )


def _read(path: Path) -> np.ndarray:
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
