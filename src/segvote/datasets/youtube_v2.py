"""YouTube-Objects v2.2 (frames, ranges of shots, boxes in MATLAB files) and v2.3 (annotated frames in VOC's layout).

In v2.2 a shot is a bag, as in v1.0; v2.3 holds the annotated frames alone, so there every frame is a bag.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path

import numpy as np

from segvote.datasets.base import DataItem, DataSet, find_folder, oppose_classes, pick_classes
from segvote.datasets.truth_files import order_corners, read_voc_boxes
from segvote.datasets.youtube_v1 import CLASSES, find_number
from segvote.errors import BadInputError
from segvote.io.arrays import read_mat
from segvote.types import WITH, WITHOUT


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
