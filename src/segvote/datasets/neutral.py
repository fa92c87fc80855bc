"""The neutral layout: ``with/``, ``without/``, and ``masks/`` with the image's path and stem; PittCar is kept in it.

Images may lie in nested folders. A folder of frames is one video: that is assumed where images lie only in sub-folders
and every stem ends in a number, and can be said with `videos`.
"""

from __future__ import annotations

import re
from functools import partial
from pathlib import Path

from segvote.datasets.base import DataItem, DataSet, Reader, find_folder, pick_classes
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
    root
        The folder that holds ``with`` and ``without``, and ``masks`` if there is truth.
    class_name
        What the class is called; default: the folder's name.
    videos
        Whether the folders in ``with`` and ``without`` are videos; None decides by the files' names.
    name
        The data set's name.
    """
    folder = find_folder(root, WITH, WITHOUT)
    images = {bag_label: list_images(folder / bag_label) for bag_label in (WITH, WITHOUT)}
    if videos is None:
        videos = all(_looks_like_frames(folder / bag_label, paths) for bag_label, paths in images.items())
    masks = _index_masks(folder / "masks")
    items = [
        item
        for bag_label, paths in images.items()
        for item in _make_items(folder / bag_label, bag_label, paths, masks, videos)
    ]
    return DataSet(name, {class_name or folder.resolve().name: tuple(items)})


def load_pittcar(root: Path | str, class_name: str | None = None) -> DataSet:
    """Load PittCar, brought into the neutral layout: 200 images with cars, 200 without.

    Parameters
    ----------
    root
        The folder that holds ``with``, ``without`` and ``masks``.
    class_name
        ``"car"`` or None.
    """
    (class_name,) = pick_classes(["car"], class_name)
    return load_neutral(root, class_name, videos=False, name="pittcar")


def _looks_like_frames(folder: Path, paths: list[Path]) -> bool:
    return bool(paths) and all(path.parent != folder and re.search(r"\d$", path.stem) for path in paths)


def _index_masks(folder: Path) -> dict[str, Path]:
    """Path below the folder, without extension, to the mask."""
    if not folder.is_dir():
        return {}
    index: dict[str, Path] = {}
    for path in list_images(folder):
        key = _make_key(folder, path)
        if key in index:
            raise BadInputError(f"two masks for one image: {index[key]} and {path}; remove one")
        index[key] = path
    return index


def _make_key(folder: Path, path: Path) -> str:
    return path.relative_to(folder).with_suffix("").as_posix()


def _make_items(
    folder: Path, bag_label: str, paths: list[Path], masks: dict[str, Path], videos: bool
) -> list[DataItem]:
    if not videos:
        return [
            _make_item(folder, bag_label, path.relative_to(folder).as_posix(), [path], masks, False) for path in paths
        ]
    by_video: dict[str, list[Path]] = {}
    for path in paths:
        by_video.setdefault(path.parent.relative_to(folder).as_posix(), []).append(path)
    return [_make_item(folder, bag_label, video, frames, masks, True) for video, frames in by_video.items()]


def _make_item(
    folder: Path, bag_label: str, name: str, frames: list[Path], masks: dict[str, Path], is_video: bool
) -> DataItem:
    readers: dict[int, Reader] = {}
    for number, frame in enumerate(frames):
        mask = masks.get(_make_key(folder, frame))
        if mask is not None and bag_label == WITH:
            readers[number] = partial(read_mask, mask)
    return DataItem(f"{bag_label}/{name}", bag_label, tuple(frames), is_video, readers)
