"""A class of a data set as two folders of images: links to the files, named in order, nothing copied.

A video becomes a few of its frames, those with truth first, or a folder of all of them, which the main job then takes
for the video it is. Which frames belong together is kept, so that a video is judged over all its frames at once.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from segvote.datasets.base import DataItem, DataSet
from segvote.errors import BadInputError
from segvote.evaluation.evaluate_truth import Truth, TruthReader
from segvote.steps.label_maps import EXTENSIONS
from segvote.types import WITH, WITHOUT

WHOLE = 0  # frames of each video: not images of their own
MAPS = "maps"  # folder of linked label maps


@dataclass(frozen=True)
class Laid:
    """A class laid out for a comparison."""

    folders: tuple[Path, Path]  # the *with* and the *without* folder
    readers: dict[str, TruthReader]  # name of a *with* file, without extension, to its truth
    groups: dict[str, str]  # name of a *with* bag to the item it belongs to
    n_items: int  # how many items with truth there are
    is_video: bool  # whether items are videos
    label_maps: Path | None = None  # folder of label maps named like the links, where there are some


def lay_out_class(
    data: DataSet,
    class_name: str,
    folder: Path,
    n_frames: int,
    max_items: int | None,
    label_maps: Path | str | None = None,
) -> Laid:
    """Link the images of a class's experiment into ``with`` and ``without`` below a folder, which is emptied first.

    Of each video `n_frames` are images of their own, or (`WHOLE`) it is taken as it is. At most `max_items` items of
    each kind, evenly spread over the list; None: all. `label_maps` is a folder of label or contour maps named like the
    images (frames: below the name of their folder), which are linked under the names of the links.
    """
    for part in (WITH, WITHOUT, MAPS):
        _make_empty(folder / part)
    shown = _spread(data.select(class_name, WITH), max_items)
    absent = _spread(data.select(class_name, WITHOUT), max_items)
    if not absent:
        raise BadInputError(f"{data.name}: nothing on disk is without {class_name}; add images of other objects")
    readers: dict[str, TruthReader] = {}
    groups: dict[str, str] = {}
    for place, item in enumerate(shown):
        join = _choose_join(item, n_frames)
        for number in choose_frames(item, n_frames):
            name = _link(item.frames[number], folder / WITH, place, number, join)
            _link_map(label_maps, item.frames[number], folder / MAPS / WITH / name)
            groups[f"{WITH}/{name.split('/')[0]}"] = item.name
            if number in item.masks or number in item.boxes:
                readers[name.rsplit(".", 1)[0]] = partial(_read_truth, item, number)
    for place, item in enumerate(absent):
        for number in choose_frames(item, n_frames):
            name = _link(item.frames[number], folder / WITHOUT, place, number, _choose_join(item, n_frames))
            _link_map(label_maps, item.frames[number], folder / MAPS / WITHOUT / name)
    n_items = sum(item.has_truth for item in shown)
    is_video = any(item.is_video for item in shown)
    maps = None if label_maps is None else folder / MAPS
    return Laid((folder / WITH, folder / WITHOUT), readers, groups, n_items, is_video, maps)


def _make_empty(folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    try:
        folder.mkdir(parents=True)
    except OSError as error:
        raise BadInputError(f"cannot write to {folder} ({error.strerror}); choose another -o folder") from error


def _choose_join(item: DataItem, n_frames: int) -> str:
    """What stands between the number of an item and that of its frame: a whole video is a folder."""
    return "/" if n_frames == WHOLE and item.is_video else "-"


def choose_frames(item: DataItem, n_frames: int) -> list[int]:
    """Numbers of the frames to use: those with truth, evenly spread, then others until there are enough."""
    if n_frames == WHOLE:
        return list(range(len(item.frames)))
    known = sorted({*item.masks, *item.boxes})
    others = [number for number in range(len(item.frames)) if number not in known]
    chosen = _spread(known, n_frames)
    return sorted([*chosen, *_spread(others, n_frames - len(chosen))])


def _spread(values: Sequence, count: int | None) -> list:
    """At most `count` of the values, evenly spread."""
    if count is None or len(values) <= count:
        return list(values)
    return [values[place] for place in np.linspace(0, len(values) - 1, count).round().astype(int)] if count > 0 else []


def _link(path: Path, folder: Path, place: int, number: int, join: str) -> str:
    name = f"{place:05d}{join}{number:05d}{path.suffix.lower()}"
    (folder / name).parent.mkdir(exist_ok=True)
    try:
        os.symlink(path.resolve(), folder / name)
    except OSError:  # Windows without the right to make links
        shutil.copyfile(path, folder / name)
    return name


def _link_map(label_maps: Path | str | None, image: Path, target: Path) -> None:
    """Link the label map of an image: ``FOLDER/NAME`` or ``NAME`` below `label_maps`, with any known extension."""
    if label_maps is None:
        return
    for start in (Path(label_maps) / image.parent.name / image.name, Path(label_maps) / image.name):
        for extension in EXTENSIONS:
            if (found := start.with_suffix(extension)).is_file():
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(found, target.with_suffix(extension))
                return
    raise BadInputError(f"{image}: no label map in {label_maps}; expected {image.stem} with .png, .tif, .npy or .mat")


def _read_truth(item: DataItem, number: int) -> Truth:
    return Truth(mask=item.masks[number]()) if number in item.masks else Truth(boxes=item.boxes[number]())
