"""The neutral layout: ``with/``, ``without/``, and ``masks/`` with the image's path and stem; PittCar is kept in it.

Images may lie in nested folders. A folder of frames is one video where images lie only in sub-folders and every stem
ends in a number.
"""

from __future__ import annotations

import re
from functools import partial
from pathlib import Path

from segvote.datasets.base import DataItem, DataSet, find_folder, pick_classes
from segvote.errors import BadInputError
from segvote.io.images import list_images
from segvote.io.masks import read_mask
from segvote.types import WITH, WITHOUT


def load_neutral(
    root: Path | str, class_name: str | None = None, videos: bool | None = None, name: str = "neutral"
) -> DataSet:
    """Load a data set of the neutral layout.

    Parameters
    ----------
    root : path or str
        The folder that holds ``with`` and ``without``, and ``masks`` if there is truth.
    class_name : str, optional
        Name of the class; default: the folder's name.
    videos : bool, optional
        Whether the folders in ``with`` and ``without`` are videos; None decides by the files' names.
    name : str
        The data set's name.
    """
    folder = find_folder(root, WITH, WITHOUT)
    images = {bag_label: list_images(folder / bag_label) for bag_label in (WITH, WITHOUT)}
    if videos is None:
        videos = all(
            path.parent != folder / bag_label and re.search(r"\d$", path.stem)
            for bag_label, paths in images.items()
            for path in paths
        )
    masks = _index_masks(folder / "masks")
    items = []
    for bag_label, paths in images.items():
        bags: dict[str, list[Path]] = {}
        for path in paths:
            bag = path.parent if videos else path
            bags.setdefault(bag.relative_to(folder).as_posix(), []).append(path)
        for bag_name, frames in bags.items():
            truth = [masks.get(_make_key(folder / WITH, frame)) if bag_label == WITH else None for frame in frames]
            readers = {number: partial(read_mask, mask) for number, mask in enumerate(truth) if mask is not None}
            items.append(DataItem(bag_name, bag_label, tuple(frames), videos, readers))
    return DataSet(name, {class_name or folder.resolve().name: tuple(items)})


def load_pittcar(root: Path | str, class_name: str | None = None) -> DataSet:
    """Load PittCar, brought into the neutral layout: 200 images with cars, 200 without."""
    (class_name,) = pick_classes(["car"], class_name)
    return load_neutral(root, class_name, videos=False, name="pittcar")


def _index_masks(folder: Path) -> dict[str, Path]:
    """Path below the folder, without extension, to the mask."""
    index: dict[str, Path] = {}
    for path in list_images(folder) if folder.is_dir() else ():
        if (other := index.setdefault(_make_key(folder, path), path)) != path:
            raise BadInputError(f"two masks for one image: {other} and {path}; remove one")
    return index


def _make_key(folder: Path, path: Path) -> str:
    return path.relative_to(folder).with_suffix("").as_posix()
