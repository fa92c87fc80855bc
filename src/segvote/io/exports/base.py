"""What all export formats share: the options, the numbering of labels, the choice of parts and the naming of files.

A writer has the signature ``write_<format>(annotations, folder, options) -> Path``. It takes the annotations one at a
time, so that a million images need hardly more memory than one, and returns the file or folder to open in the other
tool.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import PurePosixPath

import cv2
import numpy as np

from segvote.errors import BadInputError
from segvote.io.images import IMAGE_EXTENSIONS
from segvote.io.names import MAX_STEP, fold_name, shorten_step
from segvote.types import Annotation, Part

IMAGES = ("link", "copy", "none")


@dataclass(frozen=True)
class ExportOptions:
    """What can be chosen about an export; a format ignores what it cannot hold."""

    labels: tuple[str, ...] = ()  # names of the classes in the order of their numbers. Empty: numbered as they come
    polygons: bool = False  # write outlines instead of run lengths or mask pictures, where a format has both
    instances: bool = False  # write every connected region, as the user cut and joined them, as an object of its own
    min_area: int = 1  # with `instances`: leave out regions of fewer pixels
    # Pictures where the format expects them: link (hard links; copies where they cannot be made), copy, none.
    images: str = "link"
    # Share of the images for validation, evenly spread, in formats that have a split; 0: no split.
    val_share: float = 0.2
    boxes: bool = False  # YOLO: boxes around the objects instead of outlines, for readers of detections
    model_version: str = "segvote"  # what made the masks, for formats that say so
    # Put before an image's name to make the address Label Studio loads it from.
    image_prefix: str = "/data/local-files/?d="

    def __post_init__(self) -> None:
        if len(set(self.labels)) != len(self.labels) or not all(self.labels):
            raise BadInputError(f"labels must be different and not empty, got {self.labels}; name each class once")
        if not 0 <= self.val_share < 1:
            raise BadInputError(f"the share for validation is at least 0 and less than 1; got {self.val_share}")
        if self.images not in IMAGES:
            raise BadInputError(f"expected images to be one of {', '.join(IMAGES)}; got {self.images!r}")


class LabelTable:
    """Labels to numbers 0, 1, …: those of the options first, others as they come, unless the options name any."""

    def __init__(self, labels: Iterable[str] = ()) -> None:
        self.names = list(labels)
        self._is_closed = bool(self.names)

    def find(self, label: str) -> int:
        if label not in self.names:
            if self._is_closed:
                raise BadInputError(f"label {label!r} is not among {', '.join(self.names)}; add it to the labels")
            self.names.append(label)
        return self.names.index(label)


_ENDINGS = {*IMAGE_EXTENSIONS, ".json", ".txt", ".xml"}
# Bytes of a stem: what formats and this class put before and behind it must still fit into a file name.
_MAX_STEM = 200


class FileNamer:
    """File names without extension, one per image: the image's own, made different where two would fall together."""

    def __init__(self) -> None:
        self._taken: set[str] = set()

    def choose_stem(self, name: str) -> str:
        """Path below the export's folder, with forward slashes and no extension, for an image name."""
        path = PurePosixPath(check_name(name))
        # A folder called a.png would be in the way of the file a.png for an image a.jpg.
        folders = [f"{part}~" if PurePosixPath(part).suffix.lower() in _ENDINGS else part for part in path.parts[:-1]]
        steps = [*(shorten_step(folder, MAX_STEP) for folder in folders), shorten_step(path.stem, _MAX_STEM, name)]
        stem = PurePosixPath(*steps).as_posix()
        if fold_name(stem) in self._taken:  # photo.jpg beside photo.png, or beside Photo.jpg on some systems
            stem = f"{stem}-{path.suffix.removeprefix('.')}"
        wanted, number = stem, 2
        while fold_name(stem) in self._taken:
            stem, number = f"{wanted}-{number}", number + 1
        self._taken.add(fold_name(stem))
        return stem

    def choose_flat_stem(self, name: str) -> str:
        """The image's own file name without extension; of a second one with that name, its path with underscores."""
        own = PurePosixPath(check_name(name))
        is_free = fold_name(own.stem) not in self._taken
        return self.choose_stem(own.name if is_free else name.replace("/", "_"))


def check_name(name: str) -> str:
    """The name itself, if it stays below the folder it is joined to."""
    path = PurePosixPath(name)
    leads_out = path.is_absolute() or ".." in path.parts or "\0" in name
    if os.name == "nt":  # elsewhere a colon and a backslash are letters like any other
        leads_out |= ":" in name or "\\" in name
    if leads_out or not path.name:
        raise BadInputError(f"expected an image name below its folder, with forward slashes, got {name!r}; rename it")
    return name


def split_instances(annotation: Annotation, min_area: int = 1) -> Annotation:
    """Every instance of at least `min_area` pixels as a part of its own, from top to bottom.

    Instances are those that a part says it has, or else its 8-connected regions.
    """
    parts = [part for whole in annotation.parts for part in _split_part(whole, min_area)]
    return replace(annotation, parts=tuple(parts))


def _split_part(part: Part, min_area: int) -> Iterator[Part]:
    if part.instances is None:
        yield from _split_regions(part, min_area)
        return
    areas = np.bincount(part.instances[part.mask])
    for number in np.flatnonzero(areas >= max(min_area, 1)):
        yield replace(part, mask=part.mask & (part.instances == number), instances=None)


def _split_regions(part: Part, min_area: int) -> Iterator[Part]:
    n_labels, labels, stats, _ = cv2.connectedComponentsWithStats(part.mask.astype(np.uint8), connectivity=8)
    places = [(stats[label, cv2.CC_STAT_TOP], stats[label, cv2.CC_STAT_LEFT], label) for label in range(1, n_labels)]
    for _, _, label in sorted(places):
        if stats[label, cv2.CC_STAT_AREA] >= min_area:
            yield replace(part, mask=labels == label)


def list_parts(annotation: Annotation, options: ExportOptions) -> tuple[Part, ...]:
    """The parts to write: as they are or split into regions, never an empty one."""
    if options.instances:
        return split_instances(annotation, options.min_area).parts
    return tuple(part for part in annotation.parts if part.mask.any())


def measure_box(mask: np.ndarray) -> tuple[int, int, int, int]:
    """(left, top, width, height) of the object pixels of a mask that has some."""
    rows, columns = np.flatnonzero(mask.any(axis=1)), np.flatnonzero(mask.any(axis=0))
    left, top = int(columns[0]), int(rows[0])
    return left, top, int(columns[-1]) + 1 - left, int(rows[-1]) + 1 - top


def number_instances(annotation: Annotation, parts: Iterable[Part], numbers: Iterable[int], unsure: int) -> np.ndarray:
    """(h, w) int32 with each part's number on its pixels, 0 elsewhere; later parts and then `unsure` pixels win."""
    indices = np.zeros((annotation.height, annotation.width), np.int32)
    for part, number in zip(parts, numbers, strict=True):
        indices[part.mask] = number
    if annotation.unsure is not None:
        indices[annotation.unsure] = unsure
    return indices
