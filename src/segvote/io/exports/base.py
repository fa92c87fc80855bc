"""What all export formats share: the options, the numbering of labels, the choice of parts and the naming of files.

A writer has the signature ``write_<format>(annotations, folder, options) -> Path``. It takes the annotations one at a
time, so that a million images need hardly more memory than one, and returns the file or folder to open in the other
tool.
"""

from __future__ import annotations

import math
import os
import shutil
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath

import cv2
import numpy as np
from PIL import ExifTags, Image

from segvote.errors import BadInputError
from segvote.io.atomic import atomic_path
from segvote.io.decoding import open_picture, orient, read_orientation
from segvote.io.images import IMAGE_EXTENSIONS
from segvote.io.names import MAX_STEP, shorten_step
from segvote.io.picture_views import split_view
from segvote.types import Annotation, Part


@dataclass(frozen=True)
class ExportOptions:
    """What can be chosen about an export; a format ignores what it cannot hold."""

    labels: tuple[str, ...] = ()  # names of the classes in the order of their numbers. Empty: numbered as they come
    polygons: bool = False  # write outlines instead of run lengths or mask pictures, where a format has both
    instances: bool = False  # write every connected region, as the user cut and joined them, as an object of its own
    min_area: int = 1  # with `instances`: leave out regions of fewer pixels
    copy_images: bool = False  # put upright copies of the pictures where the format expects them
    nested: bool = False  # YOLO: keep the folders of the images; otherwise all lie in one, under names that differ
    val_share: float = 0.0  # YOLO: this part of the images, evenly spread, is for validation; 0: no split
    boxes: bool = False  # YOLO: boxes around the objects instead of outlines, for readers of detections
    model_version: str = "segvote"  # what made the masks, for formats that say so
    # Put before an image's name to make the address Label Studio loads it from.
    image_prefix: str = "/data/local-files/?d="

    def __post_init__(self) -> None:
        if len(set(self.labels)) != len(self.labels) or not all(self.labels):
            raise BadInputError(f"labels must be different and not empty, got {self.labels}; name each class once")
        if not 0 <= self.val_share < 1:
            raise BadInputError(f"the share for validation is at least 0 and less than 1; got {self.val_share}")

    def is_for_validation(self, number: int) -> bool:
        """Whether the image of that number, from 0, is for validation: every fifth for a share of 0.2."""
        return math.floor((number + 1) * self.val_share + 1e-9) > math.floor(number * self.val_share + 1e-9)


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
        if stem.casefold() in self._taken:  # photo.jpg beside photo.png, or beside Photo.jpg on some systems
            stem = f"{stem}-{path.suffix.removeprefix('.')}"
        wanted, number = stem, 2
        while stem.casefold() in self._taken:
            stem, number = f"{wanted}-{number}", number + 1
        self._taken.add(stem.casefold())
        return stem


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


def copy_image(annotation: Annotation, target: Path) -> None:
    """Copy the picture to `target`, turned upright if it relies on EXIF: not every tool looks at that."""
    if annotation.image_path is None:
        raise BadInputError(f"{annotation.name}: there is no picture on disk to copy; export without copying images")
    is_whole = not str(split_view(annotation.image_path)[1])
    with open_picture(annotation.image_path) as picture:
        # A plain copy has none of the tags that the writers would carry over.
        turned = None if is_whole and _is_upright(picture) else orient(picture).copy()
        kind = "JPEG" if picture.format == "MPO" else picture.format or Image.registered_extensions()[target.suffix]
        profile = picture.info.get("icc_profile")
    with atomic_path(target) as temporary:
        if turned is None:
            shutil.copyfile(annotation.image_path, temporary)
        else:
            turned.save(temporary, format=kind, quality=95, icc_profile=profile)


def _is_upright(picture: Image.Image) -> bool:
    tags = getattr(picture, "tag_v2", {})  # TIFF, which Pillow turns itself
    return read_orientation(picture) == 1 and tags.get(ExifTags.Base.Orientation, 1) == 1
