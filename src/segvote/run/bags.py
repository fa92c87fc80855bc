"""From two folders to bags: which images, pages of stacks and videos there are, and what is known of each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from segvote.errors import BadInputError, UnreadableImageError
from segvote.io.images import list_images
from segvote.io.picture_formats import (
    TIFF_EXTENSIONS,
    PictureView,
    Reading,
    count_extensions,
    describe_found,
    describe_skipped,
    name_view,
)
from segvote.io.tiff_stacks import StackLayout, measure_stack
from segvote.io.video.reading import hash_video
from segvote.run.output_names import name_stems
from segvote.run.videos import is_video, split_videos
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


# Files of a folder ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Source:
    """What one bag is made of."""

    name: str  # its path below the folder, with the page where every page of a stack is a bag; forward slashes
    path: Path  # by which it is read: a file, a view of one, or the folder of a video's frames
    note: str = ""  # what of the file is not read; empty: nothing


def list_sources(folder: Path, frames: str = "auto", reading: Reading | None = None) -> list[Source]:
    """All images and videos of a folder, sorted by name; none at all is an error that says what is there instead."""
    reading = reading or Reading()
    paths = split_videos(folder, list_images(folder), frames)
    if not paths:
        raise BadInputError(
            f"no images in {folder}: {describe_found(count_extensions(folder))}; expected JPEG, PNG, WebP, BMP, TIFF "
            "or GIF files, or videos, nested folders too"
        )
    found = [source for path in paths for source in _split_file(folder, path, reading)]
    return sorted(found, key=lambda source: source.name)


def _split_file(folder: Path, path: Path, reading: Reading) -> Iterator[Source]:
    name = path.relative_to(folder).as_posix()
    if is_video(path):
        yield Source(name, path)
        return
    layout = measure_stack(path) if path.suffix.lower() in TIFF_EXTENSIONS else StackLayout()
    note = _describe_rest(path, layout, reading)
    if layout.n_slices == 1 or reading.pages != "all":
        yield Source(name, reading.view(path), note)
        return
    for number in range(layout.n_slices):
        page = name_view(path, PictureView(f"{number:0{len(str(layout.n_slices - 1))}d}"))
        if page.exists():
            raise BadInputError(f"{page} is called like a page of {path.name}; rename it")
        yield Source(page.relative_to(folder).as_posix(), reading.view(page), note if number == 0 else "")


def _describe_rest(path: Path, layout: StackLayout, reading: Reading) -> str:
    notes = []
    if layout.n_slices > 1 and reading.pages == "first":
        notes.append(
            f"only the first of {layout.n_slices} pages was read; --pages all makes every page an image, --pages max "
            "takes their maximum"
        )
    if layout.n_channels > 1 and not reading.channels:
        notes.append(f"not all of {layout.n_channels} channels were read; choose up to three, as in --channels 0,2,1")
    return f"{path}: {'; '.join(notes)}" if notes else ""


# After extraction -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class SegmentedImage:
    """What is known of one bag after segmentation and feature extraction; small enough to send between processes."""

    bag: Bag
    segments_key: str = ""
    features_key: str = ""
    height: int = 0
    width: int = 0
    n_segments: int = 0
    problem: str = ""
    n_frames: int = 0  # of a video; 0 for an image
    warning: str = ""  # what of a video or of a stack was left out
    seconds: dict[str, float] = field(default_factory=dict)
