"""Common parts of the export formats: options, parts of an annotation, the split, pictures, streamed JSON files.

A writer has the signature ``write_<format>(annotations, folder, options) -> Path``. It takes the annotations one at a
time, so that a million images need hardly more memory than one, and returns the file or folder to open in the other
tool.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TextIO

import cv2
import numpy as np
from PIL import ExifTags, Image

from segvote.errors import BadInputError, UnreadableImageError
from segvote.io.decoding import open_picture, orient, read_orientation
from segvote.io.files import atomic_path
from segvote.io.picture_formats import split_view
from segvote.registry import check_known
from segvote.types import Annotation, Part

IMAGES = ("link", "copy", "none")


@dataclass(frozen=True)
class ExportOptions:
    """Options of an export; a format ignores those that it has no use for."""

    labels: tuple[str, ...]  # names of the classes in the order of their numbers
    polygons: bool = False  # write outlines instead of run lengths or mask pictures, where a format has both
    # Write every object of a part on its own: its instances, or else its connected regions. None: by the run's objects.
    instances: bool | None = False
    min_area: int = 1  # with `instances`: leave out regions of fewer pixels
    # Pictures where the format expects them: link (hard links; copies where they cannot be made), copy, none.
    images: str = "link"
    # Share of the images for validation, evenly spread, in formats that have a split; 0: no split.
    val_share: float = 0.2
    boxes: bool = False  # YOLO: boxes around the objects instead of outlines, for readers of detections
    # Pixels of segments this close to the threshold are unsure, in formats that have such pixels: a share of the range
    # of scores of the image.
    unsure: float = 0.0
    model_version: str = "segvote"  # source of the masks, for formats that have a place for it

    def __post_init__(self) -> None:
        if len(set(self.labels)) != len(self.labels) or not all(self.labels):
            raise BadInputError(f"labels must be different and not empty, got {self.labels}; name each class once")
        if not 0 <= self.val_share < 1:
            raise BadInputError(f"the share for validation is at least 0 and less than 1; got {self.val_share}")
        if not 0 <= self.unsure <= 1:
            raise BadInputError(f"the unsure band is a share of the scores, 0 to 1; got {self.unsure}")
        check_known(self.images, IMAGES, "choice of images")


def list_parts(annotation: Annotation, options: ExportOptions) -> tuple[Part, ...]:
    """The parts to write: as they are or split into instances, never an empty one."""
    for part in annotation.parts:
        if part.label not in options.labels:
            raise BadInputError(f"label {part.label!r} is not among {', '.join(options.labels)}; add it to the labels")
    if options.instances:
        return tuple(part for whole in annotation.parts for part in split_part(whole, options.min_area))
    return tuple(part for part in annotation.parts if part.mask.any())


def split_part(part: Part, min_area: int = 1) -> Iterator[Part]:
    """Instances of at least `min_area` pixels: the part's own, or else its 8-connected regions from top to bottom."""
    if part.instances is not None:
        areas = np.bincount(part.instances[part.mask])
        for number in np.flatnonzero(areas >= max(min_area, 1)):
            score = part.score if part.scores is None else float(part.scores[number - 1])
            mask = part.mask & (part.instances == number)
            yield replace(part, mask=mask, score=score, instances=None, scores=None)
        return
    n_labels, labels, stats, _ = cv2.connectedComponentsWithStats(part.mask.astype(np.uint8), connectivity=8)
    places = [(stats[label, cv2.CC_STAT_TOP], stats[label, cv2.CC_STAT_LEFT], label) for label in range(1, n_labels)]
    for _, _, label in sorted(places):
        if stats[label, cv2.CC_STAT_AREA] >= min_area:
            yield replace(part, mask=labels == label)


def measure_box(mask: np.ndarray) -> tuple[int, int, int, int]:
    """(left, top, width, height) of the object pixels of a mask that has some."""
    rows, columns = np.flatnonzero(mask.any(axis=1)), np.flatnonzero(mask.any(axis=0))
    left, top = int(columns[0]), int(rows[0])
    return left, top, int(columns[-1]) + 1 - left, int(rows[-1]) + 1 - top


# Split ----------------------------------------------------------------------------------------------------------------

TRAIN, VAL = "train", "val"


class Split:
    """Deals annotations to ``train`` and ``val``, images with and without objects each in the same proportion.

    Frames of a video stay together: its neighbouring frames are nearly the same picture. With a share of 0 there is one
    subset, called `whole`.
    """

    def __init__(self, share: float, whole: str = TRAIN) -> None:
        self.names = (TRAIN, VAL) if share else (whole,)
        self.counts = dict.fromkeys(self.names, 0)
        self._share = share
        self._n_seen = {True: 0, False: 0}
        self._videos: dict[str, str] = {}

    def choose(self, annotation: Annotation) -> str:
        """The subset of the next annotation."""
        video = str(annotation.properties.get("video", ""))
        subset = self._videos.get(video) or self._deal(bool(annotation.parts))
        if video:
            self._videos[video] = subset
        self.counts[subset] += 1
        return subset

    def _deal(self, has_objects: bool) -> str:
        """With a share of 0.2 the third, the eighth, … image is for validation: three images give one."""
        number = self._n_seen[has_objects]
        self._n_seen[has_objects] += 1
        is_next = math.floor((number + 1) * self._share + 0.5) > math.floor(number * self._share + 0.5)
        return self.names[int(is_next)]


# Pictures -------------------------------------------------------------------------------------------------------------

JPEG_END = b"\xff\xd9"


def place_image(annotation: Annotation, target: Path, options: ExportOptions) -> None:
    """Put the picture at `target` as ``options.images`` asks: a hard link, a copy, or nothing.

    A picture that relies on EXIF orientation, is a page or channel of a file, or has another format than `target`, is
    written anew: not every tool reads these.
    """
    if options.images == "none":
        return
    source = find_picture(annotation)
    if target.exists() and source.exists() and target.samefile(source):
        return  # renaming a file onto a link of itself would leave both names
    try:
        turned, kind, profile = _turn(source, target)
        # A link must not be flushed: the picture may be read-only, and it is on the disk.
        with atomic_path(target, durable=turned is not None) as temporary:
            if turned is not None:
                turned.save(temporary, format=kind, quality=95, icc_profile=profile)
            else:
                _link_or_copy(source, temporary, options.images == "link")
    except UnreadableImageError as error:
        raise UnreadableImageError(f"{error}; images 'none' exports the masks alone") from error


def find_picture(annotation: Annotation) -> Path:
    """The picture of an annotation on disk; `BadInputError` where there is none."""
    if annotation.image_path is None:
        raise BadInputError(f"{annotation.name}: there is no picture on disk; export with images 'none'")
    return annotation.image_path


def _turn(source: Path, target: Path) -> tuple[Image.Image | None, str, bytes | None]:
    """The upright picture with its format and colour profile; None for a file that is upright as it is."""
    path, view = split_view(source)
    kind = find_kind(target.suffix)
    with open_picture(source) as picture:
        tags = getattr(picture, "tag_v2", {})  # TIFF, which Pillow turns itself
        is_upright = read_orientation(picture) == 1 and tags.get(ExifTags.Base.Orientation, 1) == 1
        is_same = not str(view) and find_kind(path.suffix) == kind
        # A plain copy has none of the tags that the writers would carry over.
        return None if is_same and is_upright else orient(picture).copy(), kind, picture.info.get("icc_profile")


def find_kind(suffix: str) -> str:
    """Pillow's name of the format that an extension stands for."""
    return Image.registered_extensions().get(suffix.lower(), "PNG")


def _link_or_copy(source: Path, target: Path, link: bool) -> None:
    with source.open("rb") as file:
        file.seek(-len(JPEG_END), os.SEEK_END)
        # Ultralytics saves a JPEG without its end mark again, in place: through a link it would change the original.
        is_complete = find_kind(source.suffix) != "JPEG" or file.read() == JPEG_END
    if link and is_complete:
        with contextlib.suppress(OSError):  # another file system, or one without hard links
            os.link(source.resolve(), target)  # of the target of a symbolic link
            return
    shutil.copyfile(source, target)


# JSON -----------------------------------------------------------------------------------------------------------------


class RecordFile:
    """A JSON file that begins with a list of records; `tail` holds the other keys, written at the end."""

    def __init__(self, file: TextIO) -> None:
        self.tail: dict[str, Any] = {}
        self._file, self._separator = file, "\n"

    def add(self, record: Any) -> None:
        """Write one more record, on a line of its own."""
        self._file.write(self._separator + _format(record))
        self._separator = ",\n"


@contextlib.contextmanager
def open_records(path: Path, key: str | None = None) -> Iterator[RecordFile]:
    """Open a list of records for writing, whole or not at all; `key` is its key, None if the list is the whole file."""
    with atomic_path(path) as temporary, temporary.open("w", encoding="utf-8", newline="\n") as file:
        file.write("[" if key is None else f"{{{_format(key)}: [")
        records = RecordFile(file)
        yield records
        rest = [f",\n{_format(name)}: {_format(records.tail[name])}" for name in sorted(records.tail)]
        file.write("\n]" + "".join(rest) + ("\n" if key is None else "}\n"))


def _format(value: Any) -> str:
    return json.dumps(value, sort_keys=True, allow_nan=False)
