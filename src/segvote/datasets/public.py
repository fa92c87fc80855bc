"""Public sets of videos: YouTube-Objects v1.0, v2.2 and v2.3, the masks of Jain and Grauman, DAVIS.

A shot or sequence is a bag. The experiment of a class has the shots of that class as *with* and the shots of all other
classes as *without*. Boxes and masks exist for a few frames of a shot only. v2.3 holds annotated frames alone, in the
layout of Pascal VOC, so there every frame is a bag.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import numpy as np

from segvote.datasets.base import (
    DataItem,
    DataSet,
    Reader,
    find_folder,
    oppose_classes,
    order_corners,
    pick_classes,
    read_voc_boxes,
)
from segvote.errors import BadInputError
from segvote.io.arrays import read_mat
from segvote.io.images import IMAGE_EXTENSIONS, read_image, read_image_size
from segvote.io.masks import BACKGROUND, OBJECT, read_mask
from segvote.types import WITH, WITHOUT

Readers = dict[int, Reader]

# DAVIS has no classes: sequences are grouped by how their names begin; any other is a group of its own.
DAVIS_GROUPS: dict[str, tuple[str, ...]] = {
    "bird": ("blackswan", "flamingo", "mallard"),
    "boat": ("boat",),
    "bus": ("bus",),
    "camel": ("camel",),
    "car": ("car-", "classic-car", "drift", "night-race", "rallye"),
    "dog": ("dog", "libby"),
    "horse": ("horsejump",),
    "motorbike": ("motocross", "motorbike", "mbike", "scooter-black", "scooter-gray"),
}


def load_youtube_objects_v1(root: Path | str, class_name: str | None = None) -> DataSet:
    """Load v1.0: ``CLASS/data/VIDEO/shots/SHOT/frame0001.jpg``, boxes in ``frame0001.jpg_sticks.mat``."""
    folder = find_folder(root, "*/data/*/shots")
    by_class = list_shots(folder, "", lambda shot, frames: {"boxes": _find_sticks(frames)})
    return oppose_classes("youtube-objects-v1.0", by_class, class_name)


def load_jain_grauman(root: Path | str, class_name: str | None = None) -> DataSet:
    """Load the masks of Jain and Grauman: ``CLASS/data/VIDEO/shots/SHOT/{images,labels}``.

    Labels are called by the number of their frame, about every tenth. A mask may have half the size of its frame.
    """
    folder = find_folder(root, "*/data/*/shots/*/labels")
    by_class = list_shots(folder, "images", _find_labels)
    return oppose_classes("jain-grauman", by_class, class_name)


def list_shots(
    folder: Path, images: str, find_truth: Callable[[Path, Sequence[Path]], dict[str, Readers]]
) -> dict[str, list[DataItem]]:
    """Class to its shots; some on disk are empty. Frames lie in the folder `images` of a shot, or in the shot."""
    by_class: dict[str, list[DataItem]] = {}
    for shot in sorted(folder.glob("*/data/*/shots/*/")):
        if frames := _list_frames(shot / images):
            name, _, video, _, number = shot.relative_to(folder).parts
            item = DataItem(f"{name}/{video}/{number}", WITH, frames, is_video=True, **find_truth(shot, frames))
            by_class.setdefault(name, []).append(item)
    return by_class


def _list_frames(folder: Path) -> tuple[Path, ...]:
    return tuple(path for path in sorted(folder.glob("[!.]*")) if path.suffix.lower() in IMAGE_EXTENSIONS)


def _find_sticks(frames: Sequence[Path]) -> Readers:
    paths = [frame.with_name(f"{frame.name}_sticks.mat") for frame in frames]
    return {place: partial(_read_sticks, path, frames[place]) for place, path in enumerate(paths) if path.is_file()}


def _read_sticks(path: Path, frame: Path) -> np.ndarray:
    """The boxes of a frame: a cell array `coor` of four numbers each."""
    cells = read_mat(path, "coor")
    boxes = [np.ravel(cell) for cell in cells.ravel()] if cells.dtype == object else np.reshape(cells, (-1, 4))
    return order_corners(np.array([box for box in boxes if len(box) == 4]), read_image_size(frame))


def _find_labels(shot: Path, frames: Sequence[Path]) -> dict[str, Readers]:
    return {"masks": match_frames(frames, shot / "labels", _read_label)}


def match_frames(frames: Sequence[Path], folder: Path, read: Callable[[Path], np.ndarray]) -> Readers:
    """Place of a frame to the reader of the picture of the same number in a folder, which may be absent."""
    places = {find_number(frame): place for place, frame in enumerate(frames)}
    pictures = {find_number(path): path for path in _list_frames(folder)}
    return {places[number]: partial(read, path) for number, path in pictures.items() if number in places}


def _read_label(path: Path) -> np.ndarray:
    """A two-valued mask that was saved as JPEG: pixels above half of its maximum are object."""
    grey = read_image(path).max(axis=2).astype(int)
    return np.where(2 * grey > grey.max(), OBJECT, BACKGROUND).astype(np.uint8)


def find_number(path: Path) -> int:
    """The last number in a file's name: frame0011 and 00011 are the same frame."""
    numbers = re.findall(r"\d+", path.stem)
    if not numbers:
        raise BadInputError(f"{path}: expected a frame number in the file's name; rename it")
    return int(numbers[-1])


def load_youtube_objects_v22(root: Path | str, class_name: str | None = None) -> DataSet:
    """Load v2.2: ``CLASS/00000001.jpg``, ``Ranges/ranges_CLASS.mat``, ``GroundTruth/CLASS/bb_gtTest_CLASS.mat``."""
    folder = find_folder(root, "Ranges/ranges_*.mat")
    known = [path.stem.removeprefix("ranges_") for path in sorted(folder.glob("Ranges/ranges_*.mat"))]
    return oppose_classes("youtube-objects-v2.2", {name: _list_ranges(folder, name) for name in known}, class_name)


def _list_ranges(folder: Path, class_name: str) -> list[DataItem]:
    """The shots of a class; frames of a range that are not on disk are left out, and so are shots without any."""
    on_disk = {find_number(path): path for path in (folder / class_name).glob("*.jpg")}
    boxes = _read_range_boxes(folder / "GroundTruth" / class_name, class_name)
    ranges = read_mat(folder / "Ranges" / f"ranges_{class_name}.mat", "ranges")
    ranges = ranges if len(ranges) == 3 else ranges.T
    items = []
    for shot, (start, end, video) in enumerate(ranges.T.astype(int)):
        numbers = [number for number in range(start, end + 1) if number in on_disk]
        readers = {place: partial(np.array, boxes[number]) for place, number in enumerate(numbers) if number in boxes}
        if numbers:
            frames = tuple(on_disk[number] for number in numbers)
            items.append(DataItem(f"{class_name}/{video:04d}/{shot:04d}", WITH, frames, is_video=True, boxes=readers))
    return items


def _read_range_boxes(folder: Path, class_name: str) -> dict[int, np.ndarray]:
    """Frame number to boxes; a record is the class and frame number in one word, then the boxes."""
    boxes: dict[int, np.ndarray] = {}
    for part in ("Training", "Test"):
        path = folder / f"bb_gt{part}_{class_name}.mat"
        for record in read_mat(path, f"bb_gt{part}").ravel() if path.is_file() else ():
            name, corners = (record[field] for field in record.dtype.names[:2])
            boxes[int(str(np.ravel(name)[0]).removeprefix(class_name).strip("_"))] = order_corners(corners)
    return boxes


def load_youtube_objects_v23(root: Path | str, class_name: str | None = None) -> DataSet:
    """Load v2.3: Pascal VOC's ``Annotations/NAME.xml`` and ``JPEGImages/NAME.jpg`` in ``YTOdevkit/YTO``."""
    folder = find_folder(root, "Annotations/*", "JPEGImages")
    by_image = {}
    for path in sorted((folder / "Annotations").rglob("*.xml")):
        name = path.relative_to(folder / "Annotations").with_suffix(".jpg").as_posix()
        if (folder / "JPEGImages" / name).is_file():
            by_image[name] = read_voc_boxes(path)
    known = sorted({class_ for boxes in by_image.values() for class_ in boxes})
    items = {}
    for wanted in pick_classes(known, class_name):
        shown = [
            DataItem(name, WITH, (folder / "JPEGImages" / name,), boxes={0: partial(np.array, boxes[wanted])})
            for name, boxes in by_image.items()
            if wanted in boxes
        ]
        absent = [name for name, boxes in by_image.items() if wanted not in boxes]
        items[wanted] = (*shown, *(DataItem(name, WITHOUT, (folder / "JPEGImages" / name,)) for name in absent))
    return DataSet("youtube-objects-v2.3", items)


def load_davis(root: Path | str, class_name: str | None = None) -> DataSet:
    """Load DAVIS 2016 or 2017: ``JPEGImages/480p/SEQUENCE/00000.jpg`` and ``Annotations/480p/SEQUENCE/00000.png``.

    `class_name` is a key of `DAVIS_GROUPS`, or the name of a sequence that is in no group; None for the groups on disk.
    In 2017 a mask numbers its objects; all count.
    """
    folder = find_folder(root, "JPEGImages/480p/*", "Annotations")
    by_group: dict[str, list[DataItem]] = {}
    for sequence in sorted(folder.glob("JPEGImages/480p/*/")):
        frames = _list_frames(sequence)
        paths = [folder / "Annotations/480p" / sequence.name / f"{frame.stem}.png" for frame in frames]
        masks = {place: partial(read_mask, path) for place, path in enumerate(paths) if path.is_file()}
        groups = [group for group, starts in DAVIS_GROUPS.items() if sequence.name.startswith(starts)]
        item = DataItem(sequence.name, WITH, frames, is_video=True, masks=masks)
        by_group.setdefault((groups or [sequence.name])[0], []).append(item)
    data = oppose_classes("davis", by_group, class_name)
    wanted = [class_name] if class_name else DAVIS_GROUPS
    return DataSet("davis", {name: items for name, items in data.items.items() if name in wanted})
