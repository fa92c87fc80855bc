"""From two folders to bags: which images there are, what is in them, and whether the folders make sense."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from segvote.errors import BadInputError, UnreadableImageError
from segvote.io.picture_formats import count_extensions, describe_skipped
from segvote.io.picture_views import Reading
from segvote.io.video.reading import hash_video
from segvote.run.output_names import name_stems
from segvote.run.sources import Source, list_sources
from segvote.run.videos import is_video
from segvote.types import WITH, WITHOUT


@dataclass(frozen=True)
class Bag:
    """An image or a video with a bag label."""

    name: str  # ``with/`` or ``without/`` and the path below that folder, forward slashes
    bag_label: str  # WITH or WITHOUT
    path: Path  # the file, or the folder of a video's frames
    digest: str  # SHA-256 of its content; empty where it cannot be read, and then `problem` says why
    problem: str = ""
    note: str = ""  # what of its file is not read; empty: nothing

    @property
    def is_video(self) -> bool:
        return is_video(self.path)


def list_bags(
    with_folder: Path, without_folder: Path, frames: str = "auto", reading: Reading | None = None
) -> list[Bag]:
    """All images and videos of the two folders, *with* first, each sorted by name; none may be in both.

    `frames` says which sub-folders are videos, see `segvote.run.videos`; `reading` how files become images.
    """
    bags = list_all_bags(with_folder, without_folder, frames, reading)
    check_shared(bags)
    return bags


def list_all_bags(
    with_folder: Path, without_folder: Path, frames: str = "auto", reading: Reading | None = None
) -> list[Bag]:
    """As `list_bags`, for those who want to know of images that are in both folders."""
    _check_folders(with_folder, without_folder)
    folders = ((WITH, with_folder), (WITHOUT, without_folder))
    return [bag for bag_label, folder in folders for bag in _list_folder(bag_label, folder, frames, reading)]


def list_unsorted_bags(folder: Path, frames: str = "auto", reading: Reading | None = None) -> list[Bag]:
    """All images and videos of a folder of unknown content: no bag label, none in their names."""
    _check_folder(folder)
    bags = _list_folder("", folder, frames, reading)
    return [replace(bag, name=bag.name.removeprefix("/")) for bag in bags]


def list_names(folder: Path, frames: str = "auto", reading: Reading | None = None) -> list[str]:
    """Paths below a folder of all its images and videos, with forward slashes, sorted; none of them is read."""
    _check_folder(folder)
    return [source.name for source in list_sources(folder, frames, reading)]


def _check_folder(folder: Path) -> None:
    if not folder.is_dir():
        what = "a file" if folder.exists() else "nothing"
        raise BadInputError(f"expected a folder of images, found {what} at {folder}; check the path")


def _check_folders(with_folder: Path, without_folder: Path) -> None:
    for folder in (with_folder, without_folder):
        _check_folder(folder)
    one, other = with_folder.resolve(), without_folder.resolve()
    if one == other:
        raise BadInputError(f"*with* and *without* are the same folder, {one}; sort the images into two folders")
    if one in other.parents or other in one.parents:
        raise BadInputError(f"one folder lies inside the other ({one}, {other}); put them side by side")


def _list_folder(bag_label: str, folder: Path, frames: str, reading: Reading | None) -> list[Bag]:
    bags = [_make_bag(bag_label, source) for source in list_sources(folder, frames, reading)]
    # Pictures of unsupported formats are reported like unreadable images: once for each format.
    for kind, reason in describe_skipped(count_extensions(folder)).items():
        bags.append(Bag(f"{bag_label}/{kind}", bag_label, folder / kind, "", f"{folder}: {reason}"))
    return bags


def _make_bag(bag_label: str, source: Source) -> Bag:
    name = f"{bag_label}/{source.name}"
    try:
        return Bag(name, bag_label, source.path, hash_video(source.path), note=source.note)
    except UnreadableImageError as error:
        return Bag(name, bag_label, source.path, "", str(error))


def check_shared(bags: Sequence[Bag]) -> None:
    """An image cannot both show and not show the object."""
    with_names = {bag.digest: bag.name for bag in bags if bag.bag_label == WITH and bag.digest}
    shared = [
        (with_names[bag.digest], bag.name) for bag in bags if bag.bag_label == WITHOUT and bag.digest in with_names
    ]
    if shared:
        more = f" (and {len(shared) - 1} more pairs)" if len(shared) > 1 else ""
        raise BadInputError(f"{shared[0][0]} and {shared[0][1]} are the same image{more}; remove it from one folder")


def name_bags(bags: Sequence[Bag]) -> dict[str, str]:
    """Bag name to the stem of its output files; see `name_stems`."""
    return name_stems([bag.name for bag in bags], {bag.name for bag in bags if bag.is_video})
