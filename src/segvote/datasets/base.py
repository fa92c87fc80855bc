"""What every loader gives: classes, each a list of images or videos with a bag label, and where their truth lies.

Nothing is read before it is asked for: an item holds paths and readers. Truth exists for some frames only, so it is
kept by frame number. Masks are 255 object, 128 ignore, 0 background; boxes are (n, 4) x0, y0, x1, y1 with the ends left
out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from segvote.errors import BadInputError, UnknownNameError
from segvote.io.images import read_image
from segvote.types import WITH, WITHOUT

Reader = Callable[[], np.ndarray]  # called when the truth is needed


@dataclass(frozen=True)
class DataItem:
    """An image or a video, its bag label and its truth."""

    name: str  # unique in its data set, with forward slashes
    bag_label: str  # ``"with"`` or ``"without"``
    frames: tuple[Path, ...]  # the image, or the frames of the video in order
    is_video: bool = False  # whether the frames are a video; a video may have one frame only
    # Frame number (place in `frames`) to a reader of its (h, w) mask; empty where there is none.
    masks: Mapping[int, Reader] = field(default_factory=dict)
    boxes: Mapping[int, Reader] = field(default_factory=dict)  # frame number to a reader of its (n, 4) boxes

    def __post_init__(self) -> None:
        if self.bag_label not in (WITH, WITHOUT):
            raise BadInputError(f"{self.name}: a bag label is {WITH!r} or {WITHOUT!r}, got {self.bag_label!r}")
        if not self.frames or (len(self.frames) > 1 and not self.is_video):
            raise BadInputError(f"{self.name}: an image is one file and a video at least one, got {len(self.frames)}")

    @property
    def path(self) -> Path:
        """The image, or the first frame."""
        return self.frames[0]

    @property
    def has_truth(self) -> bool:
        return bool(self.masks or self.boxes)

    def read_frame(self, number: int = 0) -> np.ndarray:
        """Read the image or one frame: (h, w, 3) uint8."""
        return read_image(self.frames[number])

    def read_masks(self) -> dict[int, np.ndarray]:
        """Read all masks by frame number; a mask may have another size than its frame."""
        return {number: read() for number, read in self.masks.items()}

    def read_boxes(self) -> dict[int, np.ndarray]:
        """Read all boxes by frame number."""
        return {number: read() for number, read in self.boxes.items()}


@dataclass(frozen=True)
class DataSet:
    """A data set on disk."""

    name: str  # its key in `segvote.datasets.DATASETS`
    # Class name to the items of that class's experiment: those with it, then those without.
    items: Mapping[str, tuple[DataItem, ...]]

    def __post_init__(self) -> None:
        for class_name, items in self.items.items():
            if not any(item.bag_label == WITH for item in items):
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
    if class_name not in known:
        raise UnknownNameError(f"unknown class {class_name!r}; the known ones are: {', '.join(known)}")
    return [class_name]


def find_folder(root: Path | str, *wanted: str) -> Path:
    """Find the folder that holds all wanted files or folders: the root itself, or one that lies in it.

    Archives unpack into a folder of their own, and people give either that or the one around it.
    """
    root = Path(root)
    below = sorted(path for path in root.glob("*") if path.is_dir()) if root.is_dir() else []
    for folder in [root, *below]:
        if all((folder / name).exists() for name in wanted):
            return folder
    raise BadInputError(f"expected {' and '.join(wanted)} in {root} or in a folder of it; give the unpacked data set")


def oppose_classes(name: str, by_class: Mapping[str, list[DataItem]], class_name: str | None = None) -> DataSet:
    """Make every class's experiment, or one of them: its own items are *with*, those of all other classes *without*."""
    items = {
        wanted: (
            *by_class[wanted],
            # In another class's experiment nothing in an item is the object.
            *(
                replace(item, bag_label=WITHOUT, masks={}, boxes={})
                for other in by_class
                if other != wanted
                for item in by_class[other]
            ),
        )
        for wanted in pick_classes(by_class, class_name)
    }
    return DataSet(name, items)
