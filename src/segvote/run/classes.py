"""Runs on several classes: the folders of their images, and the finished run with scores of all classes.

An image that lies in several class folders shows several objects; it is one image, and no negative of any of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from msgspec.structs import asdict
from PIL import Image

from segvote.errors import BadInputError
from segvote.io.images import IMAGE_EXTENSIONS
from segvote.io.tables import convert_record, read_json
from segvote.run.bags import Bag, list_unsorted_bags
from segvote.run.record import ClassesRecord, Problem
from segvote.run.run import Run
from segvote.run.run_folder import RunFolder
from segvote.run.settings import Settings, read_settings
from segvote.types import WITH, WITHOUT, Annotation

# Finished runs --------------------------------------------------------------------------------------------------------


class ClassRuns:
    """A finished run on several classes.

    Parameters
    ----------
    folder : path or str
        The ``-o`` folder of `segvote annotate --classes`.
    """

    def __init__(self, folder: Path | str) -> None:
        self.folder = RunFolder(folder)
        path = self.folder.classes_path
        if not path.is_file():
            raise BadInputError(
                f"{folder} holds no run on classes (no classes.json); give the -o folder of `annotate --classes`"
            )
        self.record = convert_record(read_json(path), ClassesRecord, path)
        if not self.record.complete:
            raise BadInputError(f"the run in {folder} is not finished; repeat the same `segvote annotate --classes`")
        self.names, self.images = tuple(self.record.classes), self.record.images

    def __len__(self) -> int:
        return len(self.images)

    def __repr__(self) -> str:
        return f"<ClassRuns {self.folder.path}: {len(self)} images of {', '.join(self.names)}>"

    def format_confidence(self) -> str:
        """The confidence of each class, a line each."""
        lines = {name: run.format_confidence() for name, run in self.runs.items()}
        return "\n".join(f"{name}: {line}" for name, line in lines.items() if line)

    @cached_property
    def runs(self) -> Mapping[str, Run]:
        """Class to its run; image i is bag i of each run."""
        return {name: Run(self.folder.path / "classes" / name) for name in self.names}

    @cached_property
    def settings(self) -> Settings:
        return read_settings(self.record.settings, self.folder.classes_path)

    def read_mask(self, index: int) -> np.ndarray:
        """(h, w) uint8: 0 background, otherwise the number of the class, 1 for the first of `names`."""
        with Image.open(self.folder.mask_path(self.images[index].stem)) as picture:
            return np.array(picture)

    def to_table(self) -> list[dict[str, Any]]:
        """One row per image, the fields of `ClassRecord`, for ``pandas.DataFrame``."""
        return [asdict(image) for image in self.images]

    def list_annotations(self) -> Iterator[Annotation]:
        """One annotation per image and frame, with one part for each class that was found; parts may overlap."""
        for index in range(len(self)):
            yield from list_joined(self.runs, index, self.images[index].name)


def list_joined(runs: Mapping[str, Run], index: int, name: str) -> Iterator[Annotation]:
    """Annotations of the image `name`, or of the frames of that video, with the parts of all classes."""
    found = [run for run in runs.values() if run.bags[index].has_mask] or [next(iter(runs.values()))]
    for several in zip(*(run.list_bag_annotations(index) for run in found), strict=True):
        rest = several[0].name.removeprefix(found[0].bags[index].name)  # name of a frame below its video
        parts = tuple(part for annotation in several for part in annotation.parts)
        properties = {**several[0].properties}
        if "video" in properties:
            properties["video"] = name
        yield replace(several[0], name=name + rest, parts=parts, properties=properties)


def open_any_run(folder: Path | str) -> Run | ClassRuns:
    """The finished run in a folder, on two folders or on several classes."""
    return ClassRuns(folder) if RunFolder(folder).classes_path.is_file() else Run(folder)


# Folders --------------------------------------------------------------------------------------------------------------

NONE = "none"  # the folder of images without any class
MOST_CLASSES = 254  # numbers of an index mask: 0 is background, 255 is unsure in most formats


@dataclass(frozen=True)
class ClassImage:
    """One image or video and its classes."""

    bag: Bag  # the first of its copies; named by class and path below it (``cows/a.jpg``), without bag label
    names: dict[str, str]  # class to the name of the copy in that class's folder; empty for an image of ``none``

    def make_bag(self, name: str) -> Bag:
        """The bag as the run of one class sees it: *with* below the class's folder, or *without* below the root."""
        if name in self.names:
            return replace(self.bag, name=f"{WITH}/{self.names[name].split('/', 1)[1]}", bag_label=WITH)
        return replace(self.bag, name=f"{WITHOUT}/{self.bag.name}", bag_label=WITHOUT)


@dataclass(frozen=True)
class ClassFolders:
    """The classes and images of a root folder."""

    names: tuple[str, ...]  # the classes, sorted; their numbers in masks and files start at 1
    images: tuple[ClassImage, ...]  # each image once, sorted by class folder and name
    problems: list[Problem]  # copies that are left out


def list_class_images(root: Path, settings: Settings = Settings()) -> ClassFolders:
    """All images below a folder that holds one folder per class, and perhaps ``none``; hidden folders are ignored."""
    folders = _list_folders(root)
    names = tuple(folder for folder in folders if folder != NONE)
    images: dict[str, ClassImage] = {}
    problems: list[Problem] = []
    for folder in folders:
        for bag in list_unsorted_bags(root / folder, settings):
            _add(images, replace(bag, name=f"{folder}/{bag.name}"), folder, problems)
    ordered = sorted(images.values(), key=lambda image: image.bag.name)
    for name in names:
        if all(name in image.names for image in ordered):
            raise BadInputError(f"every image shows {name!r}; add images without it to {NONE}/")
    return ClassFolders(names, tuple(ordered), problems)


def _list_folders(root: Path) -> list[str]:
    if not root.is_dir():
        raise BadInputError(f"expected a folder with one folder for each class at {root}; check --classes")
    entries = sorted(entry for entry in root.iterdir() if not entry.name.startswith("."))
    stray = [entry.name for entry in entries if entry.is_file() and entry.suffix.lower() in IMAGE_EXTENSIONS]
    if stray:
        raise BadInputError(f"{stray[0]} lies in {root} itself; put it into the folder of its class, or into {NONE}/")
    folders = [entry.name for entry in entries if entry.is_dir()]
    n_classes = len(folders) - (NONE in folders)
    if n_classes == 0 or len(folders) < 2:
        raise BadInputError(
            f"expected two class folders in {root}, or one and {NONE}/; found {', '.join(folders) or 'none'}"
        )
    if n_classes > MOST_CLASSES:
        raise BadInputError(f"an index mask holds at most {MOST_CLASSES} classes, {root} has {n_classes}; split it")
    return folders


def _add(images: dict[str, ClassImage], bag: Bag, folder: str, problems: list[Problem]) -> None:
    """Add a copy of an image to the images by content."""
    known = images.get(bag.digest or bag.name)  # an unreadable image has no digest, and is reported later
    own = {} if folder == NONE else {folder: bag.name}
    if known is None:
        images[bag.digest or bag.name] = ClassImage(bag, own)
    elif NONE in (folder, known.bag.name.split("/", 1)[0]) and bool(own) != bool(known.names):
        raise BadInputError(f"{known.bag.name} and {bag.name} are the same image; remove it from one folder")
    elif folder in known.names or not own:
        problems.append(Problem(bag.name, f"{bag.name}: the same image as {known.names.get(folder, known.bag.name)}"))
    else:
        images[bag.digest] = replace(known, names={**known.names, **own})
