"""YouTube-Objects v1.0 (with the masks of Jain and Grauman, and the segment truth of Tang), v2.2 and v2.3.

A shot is a bag. The experiment of a class has the shots of that class as *with* and the shots of all other classes as
*without*. Boxes and masks exist for a few frames of a shot only. v2.2 has frames, ranges of shots and boxes in MATLAB
files; v2.3 holds the annotated frames alone in VOC's layout, so there every frame is a bag.

Tang and others labelled segments of 151 shots for CRANE. The layout of the published files is not known to us with
certainty: this is our reading of what the paper describes, an over-segmentation of every shot in space and time, and
for every segment whether it is the concept::

    CLASS/data/VIDEO/shots/SHOT/frame0001.jpg       frames, as in v1.0
    CLASS/data/VIDEO/shots/SHOT/segments/0001.png   number of the segment of every pixel: 8 or 16 bits, or a colour each
    CLASS/data/VIDEO/shots/SHOT/labels.txt          lines "NUMBER LABEL": 1 concept, 0 background, -1 neither

A colour (r, g, b) is the number r + 256 g + 65536 b. Segments that no line names do not count.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
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
    read_stick_boxes,
    read_threshold_mask,
    read_voc_boxes,
)
from segvote.errors import BadInputError
from segvote.io.arrays import read_mat
from segvote.io.decoding import open_picture
from segvote.io.images import list_images, read_image_size
from segvote.io.masks import BACKGROUND, IGNORE, OBJECT
from segvote.types import WITH, WITHOUT

CLASSES = ("aeroplane", "bird", "boat", "car", "cat", "cow", "dog", "horse", "motorbike", "train")
TANG_LABELS = "data/*/shots/*/labels.txt"
TANG_MEANING = {1: OBJECT, 0: BACKGROUND, -1: IGNORE}


def load_youtube_objects_v1(root: Path | str, class_name: str | None = None, subset: str | None = None) -> DataSet:
    """Load v1.0: ``CLASS/data/VIDEO/shots/SHOT/frame0001.jpg``, boxes in ``frame0001.jpg_sticks.mat``.

    Parameters
    ----------
    root
        The folder that holds the class folders.
    class_name
        One class, or None for all on disk.
    subset
        ``"train"`` or ``"test"`` keeps the videos that ``CLASS/sets/SUBSET.txt`` names; None keeps all.
    """
    folder = _find_classes(root, "data")
    by_class = {
        known: [
            item
            for shot in list_shots(folder / known, _read_subset(folder / known, subset))
            if (item := _make_stick_item(shot, folder))
        ]
        for known in list_classes(folder, "data")
    }
    return oppose_classes("youtube-objects-v1.0", by_class, class_name)


def _find_classes(root: Path | str, below: str) -> Path:
    """Find the folder in which class folders with a certain content lie: the root, or one in it."""
    root = Path(root)
    for folder in [root, *sorted(path for path in root.glob("*") if path.is_dir())]:
        if list_classes(folder, below):
            return folder
    raise BadInputError(f"expected folders like aeroplane/{below} in {root}; give the unpacked data set")


def list_classes(folder: Path, below: str) -> list[str]:
    """Classes whose folder holds something that matches a pattern."""
    return [name for name in CLASSES if any((folder / name).glob(below))]


def _read_subset(class_folder: Path, subset: str | None) -> set[str] | None:
    if subset is None:
        return None
    path = class_folder / "sets" / f"{subset}.txt"
    if not path.is_file():
        raise BadInputError(f"expected the list of videos {path}, which is absent; leave subset out to take all videos")
    return set(path.read_text().split())


def list_shots(class_folder: Path, videos: set[str] | None) -> list[Path]:
    """Folders of the shots of a class, of certain videos or of all."""
    shots = sorted(path for path in class_folder.glob("data/*/shots/*") if path.is_dir())
    return [shot for shot in shots if videos is None or shot.parent.parent.name in videos]


def _make_stick_item(shot: Path, folder: Path) -> DataItem | None:
    """One shot of v1.0, or None: some shots on disk are empty."""
    frames = tuple(sorted(shot.glob("*.jpg")))
    if not frames:
        return None
    boxes: dict[int, Reader] = {}
    for number, frame in enumerate(frames):
        sticks = frame.with_name(f"{frame.name}_sticks.mat")
        if sticks.is_file():
            boxes[number] = partial(_read_sticks_of, sticks, frame)
    return DataItem(name_shot(shot, folder), WITH, frames, is_video=True, boxes=boxes)


def _read_sticks_of(sticks: Path, frame: Path) -> np.ndarray:
    return read_stick_boxes(sticks, read_image_size(frame))


def name_shot(shot: Path, folder: Path) -> str:
    """CLASS/VIDEO/SHOT."""
    class_name, _, video, _, shot_name = shot.relative_to(folder).parts
    return f"{class_name}/{video}/{shot_name}"


def load_jain_grauman(root: Path | str, class_name: str | None = None) -> DataSet:
    """Load the masks of Jain and Grauman: ``CLASS/data/VIDEO/shots/SHOT/{images,labels}``.

    Parameters
    ----------
    root
        The folder ``youtube_masks`` or the one around it.
    class_name
        One class, or None for all on disk.

    Notes
    -----
    Labels are JPEG and are thresholded; there is one for about every tenth frame, called by the frame's number. A mask
    may have half the size of its frame.
    """
    folder = _find_classes(root, "data/*/shots/*/labels")
    by_class = {
        known: [item for shot in list_shots(folder / known, None) if (item := _make_mask_item(shot, folder))]
        for known in list_classes(folder, "data/*/shots/*/labels")
    }
    return oppose_classes("jain-grauman", by_class, class_name)


def _make_mask_item(shot: Path, folder: Path) -> DataItem | None:
    frames = tuple(list_images(shot / "images")) if (shot / "images").is_dir() else ()
    if not frames:
        return None
    masks = {
        place: partial(read_threshold_mask, label) for place, label in match_frames(frames, shot / "labels").items()
    }
    return DataItem(name_shot(shot, folder), WITH, frames, is_video=True, masks=masks)


def match_frames(frames: Sequence[Path], folder: Path) -> dict[int, Path]:
    """Place of a frame to the picture of the same number in a folder, which may not be there."""
    numbers = {find_number(frame): place for place, frame in enumerate(frames)}
    pictures = list_images(folder) if folder.is_dir() else []
    return {numbers[find_number(path)]: path for path in pictures if find_number(path) in numbers}


def find_number(path: Path) -> int:
    """The last number in a file's name: frame0011 and 00011 are the same frame."""
    found = re.findall(r"\d+", path.stem)
    if not found:
        raise BadInputError(f"{path}: expected a frame number in the file's name; rename it")
    return int(found[-1])


def load_youtube_objects_v22(root: Path | str, class_name: str | None = None) -> DataSet:
    """Load v2.2: ``CLASS/00000001.jpg``, ``Ranges/ranges_CLASS.mat``, ``GroundTruth/CLASS/bb_gtTest_CLASS.mat``.

    Parameters
    ----------
    root
        The folder that holds ``Ranges`` and the class folders.
    class_name
        One class, or None for all on disk.
    """
    folder = find_folder(root, "Ranges")
    known = [name for name in CLASSES if (folder / "Ranges" / f"ranges_{name}.mat").is_file()]
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
        if not path.is_file():
            continue
        for record in read_mat(path, f"bb_gt{part}").ravel():
            name, corners = (record[field] for field in record.dtype.names[:2])
            boxes[int(str(np.ravel(name)[0]).removeprefix(class_name).strip("_"))] = order_corners(corners)
    return boxes


def load_youtube_objects_v23(root: Path | str, class_name: str | None = None) -> DataSet:
    """Load v2.3: Pascal VOC's ``Annotations/NAME.xml`` and ``JPEGImages/NAME.jpg`` in ``YTOdevkit/YTO``.

    Parameters
    ----------
    root
        ``YTO``, ``YTOdevkit`` or the folder around them.
    class_name
        One class, or None for all that are annotated.
    """
    root = Path(root)
    folder = find_folder(root / "YTOdevkit" if (root / "YTOdevkit").is_dir() else root, "Annotations", "JPEGImages")
    annotations = sorted((folder / "Annotations").rglob("*.xml"))
    if not annotations:
        raise BadInputError(f"expected annotations in {folder / 'Annotations'}, got none; unpack YTOAnnotations.tar.gz")
    by_image = {path: read_voc_boxes(path) for path in annotations}
    known = sorted({name for boxes in by_image.values() for name in boxes})
    items = {wanted: _make_voc_items(folder, by_image, wanted) for wanted in pick_classes(known, class_name)}
    return DataSet("youtube-objects-v2.3", items)


def _make_voc_items(folder: Path, by_image: dict[Path, dict[str, np.ndarray]], wanted: str) -> tuple[DataItem, ...]:
    shown, absent = [], []
    for annotation, boxes in by_image.items():
        name = annotation.relative_to(folder / "Annotations").with_suffix(".jpg").as_posix()
        image = folder / "JPEGImages" / name
        if not image.is_file():
            continue
        if wanted in boxes:
            shown.append(DataItem(name, WITH, (image,), boxes={0: partial(np.array, boxes[wanted])}))
        else:
            absent.append(DataItem(name, WITHOUT, (image,)))
    return (*shown, *absent)


def load_tang(root: Path | str, class_name: str | None = None) -> DataSet:
    """Load shots with segment truth, in our reading of their layout: see the top of this file.

    Parameters
    ----------
    root
        The folder that holds the class folders.
    class_name
        One class, or None for all on disk.
    """
    folder = Path(root)
    known = list_classes(folder, TANG_LABELS)
    if not known:
        raise BadInputError(
            f"expected files like aeroplane/{TANG_LABELS} in {root}; see docs/datasets.md for the layout"
        )
    by_class = {name: _list_labelled(folder, name) for name in known}
    return oppose_classes("tang-segments", by_class, class_name)


def _list_labelled(folder: Path, name: str) -> list[DataItem]:
    shots = [shot for shot in list_shots(folder / name, None) if (shot / "labels.txt").is_file()]
    return [_make_labelled(shot, folder) for shot in shots]


def _make_labelled(shot: Path, folder: Path) -> DataItem:
    frames = tuple(path for path in list_images(shot) if path.parent == shot)
    maps = match_frames(frames, shot / "segments")
    masks = {place: partial(_read_segment_mask, path, shot / "labels.txt") for place, path in maps.items()}
    if not masks:
        raise BadInputError(f"{shot}: expected segments/NUMBER.png for some of its {len(frames)} frames; got none")
    return DataItem(name_shot(shot, folder), WITH, frames, is_video=True, masks=masks)


def _read_segment_mask(path: Path, labels: Path) -> np.ndarray:
    known = read_segment_labels(labels)
    numbers, places = np.unique(read_segment_numbers(path), return_inverse=True)
    values = np.array([TANG_MEANING[known.get(int(number), -1)] for number in numbers], dtype=np.uint8)
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
            TANG_MEANING[label]
        except (ValueError, KeyError) as error:
            raise BadInputError(
                f"{path}: expected lines 'NUMBER 1', 'NUMBER 0' or 'NUMBER -1'; got {line!r}"
            ) from error
        labels[number] = label
    return labels
