"""Class folders to images with their classes.

An image that lies in several class folders shows several objects; it is one image, and no negative of any of them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from segvote.errors import BadInputError
from segvote.inputs.bags import Bag, Problem, list_unsorted_bags
from segvote.io.images import IMAGE_EXTENSIONS
from segvote.io.own_folders import is_own_folder
from segvote.settings import Settings
from segvote.types import WITH, WITHOUT

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
    folders = [entry.name for entry in entries if entry.is_dir() and not is_own_folder(entry)]
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
