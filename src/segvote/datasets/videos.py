"""Sets of videos: DAVIS, and segment truth of shots of YouTube-Objects.

DAVIS 2016 and 2017 hold ``JPEGImages/480p/SEQUENCE/00000.jpg`` and ``Annotations/480p/SEQUENCE/00000.png``. The set has
no classes; sequences are grouped here by what is masked in them. Only the main object of a sequence is masked: a car
that stands at the roadside of another sequence is label noise. In 2017 a mask numbers its objects; all count.

Segment truth of shots of YouTube-Objects, as Tang and others labelled 151 of them for CRANE.

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

from segvote.datasets.base import DataItem, DataSet, find_folder, oppose_classes
from segvote.datasets.youtube import list_classes, list_shots, match_frames, name_shot
from segvote.errors import BadInputError
from segvote.io.decoding import open_picture
from segvote.io.images import list_images
from segvote.io.masks import BACKGROUND, IGNORE, OBJECT, read_mask
from segvote.types import WITH

# How the names of a group's sequences begin; every other sequence is a group of its own.
GROUPS: dict[str, tuple[str, ...]] = {
    "bird": ("blackswan", "flamingo", "mallard"),
    "boat": ("boat",),
    "bus": ("bus",),
    "camel": ("camel",),
    "car": ("car-", "classic-car", "drift", "night-race", "rallye"),
    "dog": ("dog", "libby"),
    "horse": ("horsejump",),
    "motorbike": ("motocross", "motorbike", "mbike", "scooter-black", "scooter-gray"),
}
BELOW = "data/*/shots/*/labels.txt"
MEANING = {1: OBJECT, 0: BACKGROUND, -1: IGNORE}


def load_davis(root: Path | str, class_name: str | None = None, resolution: str = "480p") -> DataSet:
    """Load DAVIS.

    Parameters
    ----------
    root
        The folder that holds ``JPEGImages`` and ``Annotations``.
    class_name
        A key of `GROUPS`, or the name of a sequence that is in no group; None for the groups on disk.
    resolution
        ``"480p"``, ``"1080p"`` or ``"Full-Resolution"``.
    """
    folder = find_folder(root, "JPEGImages", "Annotations")
    sequences = sorted(path for path in (folder / "JPEGImages" / resolution).glob("*") if path.is_dir())
    if not sequences:
        raise BadInputError(f"expected sequences in {folder / 'JPEGImages' / resolution}, got none; unpack DAVIS again")
    by_group: dict[str, list[DataItem]] = {}
    for sequence in sequences:
        item = _make_item(sequence, folder / "Annotations" / resolution / sequence.name)
        by_group.setdefault(_find_group(sequence.name), []).append(item)
    everything = oppose_classes("davis", by_group, class_name)
    if class_name is not None:
        return everything
    return DataSet("davis", {name: items for name, items in everything.items.items() if name in GROUPS})


def _find_group(sequence: str) -> str:
    """The group of a sequence, or its own name."""
    return next((group for group, starts in GROUPS.items() if sequence.startswith(starts)), sequence)


def _make_item(sequence: Path, annotations: Path) -> DataItem:
    frames = tuple(list_images(sequence))
    masks = {
        number: partial(read_mask, annotations / f"{frame.stem}.png")
        for number, frame in enumerate(frames)
        if (annotations / f"{frame.stem}.png").is_file()
    }
    return DataItem(sequence.name, WITH, frames, is_video=True, masks=masks)


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
    return [_make_shot(shot, folder) for shot in shots]


def _make_shot(shot: Path, folder: Path) -> DataItem:
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
