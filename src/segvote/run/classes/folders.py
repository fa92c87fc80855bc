"""From one folder per class to bags: which images there are, which classes each shows, and as what each class sees it.

An image that lies in several class folders shows several objects; it is one image, and no negative of any of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from segvote.errors import BadInputError
from segvote.io.images import IMAGE_EXTENSIONS
from segvote.io.picture_views import Reading
from segvote.run.bags import Bag, list_unsorted_bags
from segvote.types import WITH, WITHOUT

NONE = "none"  # the folder of images that show nothing of all that
MOST_CLASSES = 254  # numbers of an index mask: 0 is background, 255 is unsure in most formats


@dataclass(frozen=True)
class ClassImage:
    """One image or video and what it shows."""

    bag: Bag  # the first of its copies; named by class and path below it (``cows/a.jpg``), without bag label
    names: dict[str, str]  # class to the name of the copy in that class's folder; empty for an image of ``none``

    def make_bag(self, name: str) -> Bag:
        """The bag as the run of one class sees it: *with* below the class's folder, or *without* below the root."""
        if name in self.names:
            return replace(self.bag, name=f"{WITH}/{self.names[name].split('/', 1)[1]}", bag_label=WITH)
        return replace(self.bag, name=f"{WITHOUT}/{self.bag.name}", bag_label=WITHOUT)


@dataclass(frozen=True)
class ClassFolders:
    """What lies below a root."""

    names: tuple[str, ...]  # the classes, sorted; their numbers in masks and files start at 1
    images: tuple[ClassImage, ...]  # each image once, sorted by class folder and name
    problems: tuple[tuple[str, str], ...]  # name and reason of each copy that is left out


def list_class_images(root: Path, frames: str = "auto", reading: Reading | None = None) -> ClassFolders:
    """All images below a folder that holds one for each class, and perhaps ``none``; hidden ones do not count."""
    folders = _list_folders(root)
    names = tuple(folder for folder in folders if folder != NONE)
    images: dict[str, ClassImage] = {}
    problems: list[tuple[str, str]] = []
    for folder in folders:
        for bag in list_unsorted_bags(root / folder, frames, reading):
            _add(images, replace(bag, name=f"{folder}/{bag.name}"), folder, problems)
    ordered = sorted(images.values(), key=lambda image: image.bag.name)
    _check_negatives(names, ordered)
    return ClassFolders(names, tuple(ordered), tuple(problems))


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


def _add(images: dict[str, ClassImage], bag: Bag, folder: str, problems: list[tuple[str, str]]) -> None:
    """File a copy of an image under its content."""
    known = images.get(bag.digest or bag.name)  # what cannot be read has no content, and is reported later
    own = {} if folder == NONE else {folder: bag.name}
    if known is None:
        images[bag.digest or bag.name] = ClassImage(bag, own)
    elif NONE in (folder, known.bag.name.split("/", 1)[0]) and bool(own) != bool(known.names):
        raise BadInputError(f"{known.bag.name} and {bag.name} are the same image; remove it from one folder")
    elif folder in known.names or not own:
        problems.append((bag.name, f"{bag.name}: the same image as {known.names.get(folder, known.bag.name)}"))
    else:
        images[bag.digest] = replace(known, names={**known.names, **own})


def _check_negatives(names: Sequence[str], images: Sequence[ClassImage]) -> None:
    """Every class needs images that do not show it."""
    for name in names:
        if all(name in image.names for image in images):
            raise BadInputError(f"every image shows {name!r}; add images without it to {NONE}/")
