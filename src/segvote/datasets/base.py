"""What every loader gives: classes, each a list of images or videos with a bag label; readers of their truth.

Nothing is read before it is asked for: an item holds paths and readers. Truth exists for some frames only, so it is
kept by frame number. Masks are (h, w) uint8 of 255 object, 128 ignore, 0 background; boxes are (n, 4) float64 x0, y0,
x1, y1 with the ends left out. Public sets store colour-coded labels, thresholded JPEG masks, trimaps, and boxes of
several kinds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from xml.etree import ElementTree

import numpy as np

from segvote.errors import BadInputError, UnknownNameError
from segvote.io.arrays import read_mat
from segvote.io.decoding import open_picture
from segvote.io.images import read_image, read_image_size
from segvote.io.masks import BACKGROUND, IGNORE, OBJECT
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


Colour = tuple[int, int, int]


def read_colour_mask(path: Path, object_colours: tuple[Colour, ...], ignore_colours: tuple[Colour, ...]) -> np.ndarray:
    """Read a label image in which a colour is a class."""
    codes = _encode_colours(read_image(path))
    mask = np.full(codes.shape, BACKGROUND, dtype=np.uint8)
    mask[np.isin(codes, _encode_colours(np.array(ignore_colours)))] = IGNORE
    mask[np.isin(codes, _encode_colours(np.array(object_colours)))] = OBJECT
    return mask


def measure_colours(path: Path) -> dict[Colour, float]:
    """Measure which part of a label image every colour covers."""
    codes, counts = np.unique(_encode_colours(read_image(path)), return_counts=True)
    colours = [(int(code >> 16), int(code >> 8 & 255), int(code & 255)) for code in codes]
    return dict(zip(colours, (counts / counts.sum()).tolist(), strict=True))


def _encode_colours(colours: np.ndarray) -> np.ndarray:
    """One number for each (..., 3) colour."""
    return colours.reshape(-1, 3).astype(np.int64).dot([1 << 16, 1 << 8, 1]).reshape(colours.shape[:-1])


def read_threshold_mask(path: Path) -> np.ndarray:
    """Read a two-valued mask that was saved as JPEG (or as 0 and 1): everything above half of its maximum is object."""
    with open_picture(path) as picture:
        grey = np.asarray(picture if picture.mode in ("1", "L") else picture.convert("L"), dtype=np.uint8)
    return np.where(2 * grey.astype(int) > grey.max(), OBJECT, BACKGROUND).astype(np.uint8)


def read_trimap(path: Path) -> np.ndarray:
    """Read a trimap of 1 object, 2 background, 3 not classified."""
    with open_picture(path) as picture:
        values = np.asarray(picture)
    if values.ndim != 2 or not np.isin(values, (1, 2, 3)).all():
        raise BadInputError(f"{path}: a trimap holds 1, 2 and 3 only, got {np.unique(values)[:6].tolist()}")
    return np.array([0, OBJECT, BACKGROUND, IGNORE], dtype=np.uint8)[values]


def order_corners(boxes: np.ndarray, size: tuple[int, int] | None = None) -> np.ndarray:
    """Put corners in order, clip them to the image (height, width), and drop boxes of which nothing is left.

    Of each of the (n, 4) boxes two opposite corners: some sets have left and right swapped, or corners outside of the
    image. Without a size negatives alone are clipped.
    """
    corners = np.asarray(boxes, dtype=float).reshape(-1, 2, 2)
    limits = (np.inf, np.inf) if size is None else (size[1], size[0])
    corners = np.clip(np.sort(corners, axis=1), 0, limits)
    ordered = corners.reshape(-1, 4)
    return ordered[np.all(ordered[:, 2:] > ordered[:, :2], axis=1)]


def read_stick_boxes(path: Path, frame: Path) -> np.ndarray:
    """Read the boxes of a frame of YouTube-Objects v1.0: a cell array `coor` of four numbers each."""
    cells = read_mat(path, "coor")
    boxes = [np.ravel(cell) for cell in cells.ravel()] if cells.dtype == object else np.reshape(cells, (-1, 4))
    return order_corners(np.array([box for box in boxes if len(box) == 4]), read_image_size(frame))


def read_voc_boxes(path: Path) -> dict[str, np.ndarray]:
    """Read a Pascal VOC annotation: class to boxes. VOC counts pixels from 1 and includes the last one."""
    try:
        root = ElementTree.parse(path).getroot()
    except (OSError, ElementTree.ParseError) as error:
        raise BadInputError(
            f"{path}: expected a VOC annotation, which this is not ({error}); unpack it again"
        ) from error
    boxes: dict[str, list[list[float]]] = {}
    for target in root.iter("object"):
        corners = [_read_side(target, side, path) for side in ("xmin", "ymin", "xmax", "ymax")]
        boxes.setdefault(target.findtext("name", "").strip(), []).append(corners)
    return {name: order_corners(np.array(corners) - [1, 1, 0, 0]) for name, corners in boxes.items()}


def _read_side(target: ElementTree.Element, side: str, path: Path) -> float:
    text = target.findtext(f"bndbox/{side}", "")
    try:
        return float(text)
    except ValueError as error:
        raise BadInputError(f"{path}: expected {side} to be a number, got {text!r:.40}; export it again") from error
