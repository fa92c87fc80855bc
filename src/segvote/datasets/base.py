"""Data sets as bags with truth: `DataSet`, `DataItem`, and functions that loaders share.

Nothing is read before it is asked for: an item holds paths and readers. Truth exists for some frames only, so it is
kept by frame number. Masks are (h, w) uint8 of 255 object, 128 ignore, 0 background; boxes are (n, 4) float64 x0, y0,
x1, y1 with the ends left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from typing import TypeVar
from xml.etree import ElementTree

import numpy as np

from segvote.errors import BadInputError
from segvote.io.images import read_image
from segvote.numerics.spread import spread_evenly
from segvote.registry import check_known
from segvote.types import WITH, WITHOUT

Reader = Callable[[], np.ndarray]  # called when the truth is needed
T = TypeVar("T")


@dataclass(frozen=True)
class DataItem:
    """An image or a video, its bag label and its truth."""

    name: str  # unique in its data set, with forward slashes
    bag_label: str  # ``"with"`` or ``"without"``
    frames: tuple[Path, ...]  # the image, or the frames of the video in order
    is_video: bool = False  # whether the frames are a video; a video may have one frame only
    masks: Mapping[int, Reader] = field(
        default_factory=dict
    )  # frame number to a reader of its mask, which may have another size
    boxes: Mapping[int, Reader] = field(default_factory=dict)  # frame number to a reader of its (n, 4) boxes

    @property
    def has_truth(self) -> bool:
        return bool(self.masks or self.boxes)

    def read_frame(self, number: int = 0) -> np.ndarray:
        """Read the image or one frame: (h, w, 3) uint8."""
        return read_image(self.frames[number])


@dataclass(frozen=True)
class DataSet:
    """A data set on disk."""

    name: str  # its key in `segvote.datasets.DATASETS`
    # Class name to the items of that class's experiment: those with it, then those without.
    items: Mapping[str, tuple[DataItem, ...]]

    def __post_init__(self) -> None:
        for class_name in self.items:
            if not self.select(class_name, WITH):
                raise BadInputError(
                    f"{self.name}: nothing on disk shows {class_name}; check that all files are unpacked"
                )

    @property
    def classes(self) -> list[str]:
        return list(self.items)

    def select(self, class_name: str, bag_label: str) -> list[DataItem]:
        """Items of a class's experiment with one bag label."""
        return [item for item in self.items[class_name] if item.bag_label == bag_label]


def pick_classes(known: Iterable[str], class_name: str | None) -> list[str]:
    """All known classes, or the one asked for."""
    known = list(known)
    if class_name is None:
        return known
    return [check_known(class_name, known, "class")]


def take_evenly(values: Sequence[T], count: int) -> list[T]:
    """At most `count` of the values, evenly spread."""
    return [values[place] for place in spread_evenly(len(values), count)]


def find_folder(root: Path | str, *wanted: str) -> Path:
    """Find the folder that holds all wanted files or folders (glob patterns): the root, or one or two levels below.

    Archives unpack into a folder, and either that or the one around it may be given.
    """
    root = Path(root)
    for level in ([root], root.glob("*/"), root.glob("*/*/")):
        for folder in sorted(level):
            if all(any(folder.glob(pattern)) for pattern in wanted):
                return folder
    raise BadInputError(f"expected {' and '.join(wanted)} in {root} or below; give the unpacked data set")


def oppose_classes(name: str, by_class: Mapping[str, list[DataItem]], class_name: str | None = None) -> DataSet:
    """Make every class's experiment, or one of them: its own items are *with*, those of all other classes *without*."""
    items = {}
    for wanted in pick_classes(by_class, class_name):
        others = chain.from_iterable(by_class[other] for other in by_class if other != wanted)
        # In another class's experiment nothing in an item is the object.
        absent = (replace(item, bag_label=WITHOUT, masks={}, boxes={}) for item in others)
        items[wanted] = (*by_class[wanted], *absent)
    return DataSet(name, items)


def order_corners(boxes: np.ndarray, size: tuple[int, int] | None = None) -> np.ndarray:
    """Put corners in order, clip them to the image (height, width), and drop boxes of which nothing is left.

    Of each of the (n, 4) boxes two opposite corners: some sets have left and right swapped, or corners outside of the
    image. Without a size negatives alone are clipped.
    """
    corners = np.asarray(boxes, dtype=float).reshape(-1, 2, 2)
    limits = (np.inf, np.inf) if size is None else (size[1], size[0])
    ordered = np.clip(np.sort(corners, axis=1), 0, limits).reshape(-1, 4)
    return ordered[np.all(ordered[:, 2:] > ordered[:, :2], axis=1)]


def read_voc_boxes(path: Path) -> dict[str, np.ndarray]:
    """Read a Pascal VOC annotation: class to boxes. VOC counts pixels from 1 and includes the last one."""
    boxes: dict[str, list[list[float]]] = {}
    try:
        for target in ElementTree.parse(path).getroot().iter("object"):
            corners = [float(target.findtext(f"bndbox/{side}", "")) for side in ("xmin", "ymin", "xmax", "ymax")]
            boxes.setdefault(target.findtext("name", "").strip(), []).append(corners)
    except (OSError, ElementTree.ParseError, ValueError) as error:
        raise BadInputError(f"{path}: expected a VOC annotation with boxes ({error}); export it again") from error
    return {name: order_corners(np.array(corners) - [1, 1, 0, 0]) for name, corners in boxes.items()}
