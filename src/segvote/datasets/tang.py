"""Segment truth of shots of YouTube-Objects, as Tang and others labelled 151 of them for CRANE.

The layout of the published files is not known to us with certainty: this is our reading of what the paper describes, an
over-segmentation of every shot in space and time, and for every segment whether it is the concept::

    CLASS/data/VIDEO/shots/SHOT/frame0001.jpg       frames, as in v1.0
    CLASS/data/VIDEO/shots/SHOT/segments/0001.png   number of the segment of every pixel: 8 or 16 bits, or a colour each
    CLASS/data/VIDEO/shots/SHOT/labels.txt          lines "NUMBER LABEL": 1 concept, 0 background, -1 neither

A colour (r, g, b) is the number r + 256 g + 65536 b. Segments that no line names do not count.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path

import numpy as np

from segvote.datasets.base import DataItem, DataSet, oppose_classes
from segvote.datasets.youtube_v1 import list_classes, list_shots, match_frames, name_shot
from segvote.errors import BadInputError
from segvote.io.decoding import open_picture
from segvote.io.images import list_images
from segvote.io.masks import BACKGROUND, IGNORE, OBJECT
from segvote.types import WITH

BELOW = "data/*/shots/*/labels.txt"
MEANING = {1: OBJECT, 0: BACKGROUND, -1: IGNORE}


def load_tang(root: Path | str, class_name: str | None = None) -> DataSet:
    """Load shots with segment truth, in the layout of this module.

    Parameters
    ----------
    root
        The folder that holds the class folders.
    class_name
        One class, or None for all on disk.
    """
    folder = Path(root)
    known = list_classes(folder, BELOW)
    if not known:
        raise BadInputError(f"expected files like aeroplane/{BELOW} in {root}; see docs/datasets.md for the layout")
    by_class = {name: _list_labelled(folder, name) for name in known}
    return oppose_classes("tang-segments", by_class, class_name)


def _list_labelled(folder: Path, name: str) -> list[DataItem]:
    shots = [shot for shot in list_shots(folder / name, None) if (shot / "labels.txt").is_file()]
    return [_make_item(shot, folder) for shot in shots]


def _make_item(shot: Path, folder: Path) -> DataItem:
    frames = tuple(path for path in list_images(shot) if path.parent == shot)
    maps = match_frames(frames, shot / "segments")
    masks = {place: partial(_read_mask, path, shot / "labels.txt") for place, path in maps.items()}
    if not masks:
        raise BadInputError(f"{shot}: expected segments/NUMBER.png for some of its {len(frames)} frames; got none")
    return DataItem(name_shot(shot, folder), WITH, frames, is_video=True, masks=masks)


def _read_mask(path: Path, labels: Path) -> np.ndarray:
    known = read_segment_labels(labels)
    numbers, places = np.unique(read_segment_numbers(path), return_inverse=True)
    values = np.array([MEANING[known.get(int(number), -1)] for number in numbers], dtype=np.uint8)
    return values[places].reshape(places.shape)


def read_segment_numbers(path: Path) -> np.ndarray:
    """(h, w) int64: the number of the segment of every pixel."""
    with open_picture(path) as picture:
        values = np.asarray(picture if picture.mode != "P" else picture.convert("RGB")).astype(np.int64)
    if values.ndim == 2:
        return values
    return values[:, :, :3] @ np.array([1, 256, 65536])


def read_segment_labels(path: Path) -> dict[int, int]:
    """Number of a segment to its label: 1, 0 or -1."""
    labels = {}
    for line in path.read_text().splitlines():
        parts = line.split("#")[0].split()
        if not parts:
            continue
        try:
            number, label = map(int, parts)
            MEANING[label]
        except (ValueError, KeyError) as error:
            raise BadInputError(
                f"{path}: expected lines 'NUMBER 1', 'NUMBER 0' or 'NUMBER -1'; got {line!r}"
            ) from error
        labels[number] = label
    return labels
