"""From two folders to bags: images, pages of stacks, and videos."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from msgspec import Struct

from segvote.errors import BadInputError, UnreadableImageError
from segvote.inputs.videos import is_video, split_videos
from segvote.io.decoding import count_frames, count_pages
from segvote.io.images import list_images
from segvote.io.own_folders import is_own_folder
from segvote.io.picture_formats import (
    ANIMATED_EXTENSIONS,
    PAGES,
    TIFF_EXTENSIONS,
    WINDOWS,
    PictureView,
    choose_window,
    count_extensions,
    describe_found,
    describe_skipped,
    name_view,
)
from segvote.io.video.reading import hash_video
from segvote.registry import check_known
from segvote.settings import Settings
from segvote.types import WITH, WITHOUT


class Problem(Struct, frozen=True):
    """An image that was left out, wholly or in part."""

    name: str
    reason: str


@dataclass(frozen=True)
class Bag:
    """An image or a video with a bag label; small enough to send between processes."""

    name: str  # ``with/`` or ``without/`` and the path below that folder, forward slashes
    bag_label: str  # WITH or WITHOUT
    path: Path  # the file, or the folder of a video's frames
    digest: str  # SHA-256 of its content; empty where it cannot be read
    problem: str = ""  # why it cannot be read, or its segments or features not be computed
    warning: str = ""  # what of a stack or of a video is not read

    # After segmentation and feature extraction.
    segments_key: str = ""
    features_key: str = ""
    height: int = 0
    width: int = 0
    n_segments: int = 0
    n_frames: int = 0  # of a video; 0 for an image

    @property
    def is_video(self) -> bool:
        return is_video(self.path)


@dataclass(frozen=True)
class Source:
    """A file, or a folder of frames, whose bags are to be listed, and the folder below which it lies."""

    bag_label: str
    folder: Path
    path: Path


# From sources to their bags, in the same order.
Lister = Callable[[Sequence[Source]], Iterable[Iterable[Bag]]]


def list_bags(
    with_folder: Path, without_folder: Path, settings: Settings = Settings(), lister: Lister | None = None
) -> list[Bag]:
    """All images and videos of the two folders, *with* first, each sorted by name; none may be in both.

    `lister` replaces `list_source`, which reads every file.
    """
    bags = list_all_bags(with_folder, without_folder, settings, lister)
    with_names = {bag.digest: bag.name for bag in bags if bag.bag_label == WITH and bag.digest}
    shared = [
        (with_names[bag.digest], bag.name) for bag in bags if bag.bag_label == WITHOUT and bag.digest in with_names
    ]
    if shared:
        more = f" (and {len(shared) - 1} more pairs)" if len(shared) > 1 else ""
        raise BadInputError(f"{shared[0][0]} and {shared[0][1]} are the same image{more}; remove it from one folder")
    return bags


def list_all_bags(
    with_folder: Path, without_folder: Path, settings: Settings = Settings(), lister: Lister | None = None
) -> list[Bag]:
    """As `list_bags`, with images that are in both folders."""
    _check_folder(with_folder)
    _check_folder(without_folder)
    one, other = with_folder.resolve(), without_folder.resolve()
    if one == other:
        raise BadInputError(f"*with* and *without* are the same folder, {one}; sort the images into two folders")
    if one in other.parents or other in one.parents:
        raise BadInputError(f"one folder lies inside the other ({one}, {other}); put them side by side")
    lister = lister or partial(map, partial(list_source, settings))
    folders = (WITH, with_folder), (WITHOUT, without_folder)
    return [bag for bag_label, folder in folders for bag in _list_folder(bag_label, folder, settings, lister)]


def list_unsorted_bags(folder: Path, settings: Settings = Settings()) -> list[Bag]:
    """All images and videos of a folder of unknown content: no bag label, none in their names."""
    return list(map(hash_bag, list_unread_bags(folder, settings)))


def list_unread_bags(folder: Path, settings: Settings = Settings(), lister: Lister | None = None) -> list[Bag]:
    """As `list_unsorted_bags`, without the digests, for which every file is read; see `hash_bag`.

    `lister` replaces the listing that opens stacks and animations.
    """
    _check_folder(folder)
    lister = lister or partial(map, partial(_list_source, settings))
    return [replace(bag, name=bag.name.removeprefix("/")) for bag in _list_folder("", folder, settings, lister)]


def hash_bag(bag: Bag) -> Bag:
    """The bag with the digest of its content, or with a problem where it cannot be read."""
    if bag.problem:
        return bag
    try:
        return replace(bag, digest=hash_video(bag.path))
    except UnreadableImageError as error:
        return replace(bag, problem=str(error))


def _check_folder(folder: Path) -> None:
    if not folder.is_dir():
        what = "a file" if folder.exists() else "nothing"
        raise BadInputError(f"expected a folder of images, found {what} at {folder}; check the path")
    if is_own_folder(folder):
        raise BadInputError(f"expected a folder of images, but {folder} was written by segvote; give your own images")


def _list_folder(bag_label: str, folder: Path, settings: Settings, lister: Lister) -> list[Bag]:
    """All bags of a folder, sorted by name; a folder without any is an error that names the files there."""
    check_known(settings.pages, PAGES, "pages")
    check_known(settings.window, WINDOWS, "window")
    paths = split_videos(folder, list_images(folder), settings.frames)
    if not paths:
        raise BadInputError(
            f"no images in {folder}: {describe_found(count_extensions(folder))}; expected JPEG, PNG, WebP, BMP, TIFF "
            "or GIF files, or videos, nested folders too"
        )
    found = lister([Source(bag_label, folder, path) for path in paths])
    bags = sorted((bag for some in found for bag in some), key=lambda bag: bag.name)
    # Pictures of unsupported formats are reported like unreadable images: once for each format.
    for kind, reason in describe_skipped(count_extensions(folder)).items():
        bags.append(Bag(f"{bag_label}/{kind}", bag_label, folder / kind, "", f"{folder}: {reason}"))
    return bags


def list_source(settings: Settings, source: Source) -> list[Bag]:
    """The bag of a file or of a folder of frames; one for each page of a stack where all are asked for."""
    return list(map(hash_bag, _list_source(settings, source)))


def _list_source(settings: Settings, source: Source) -> Iterator[Bag]:
    """As `list_source`, without the digests."""
    return _list_file(source.bag_label, source.folder, source.path, settings)


def is_stack(path: Path) -> bool:
    """Whether a file may have several pages, by its name."""
    return path.suffix.lower() in TIFF_EXTENSIONS and not is_video(path)


def name_bag(settings: Settings, source: Source) -> Bag:
    """The one bag of a file or of a folder of frames, by its name; nothing is read."""
    path, name = source.path, source.path.relative_to(source.folder).as_posix()
    window = path if is_video(path) else choose_window(path, settings.window)
    return Bag(f"{source.bag_label}/{name}", source.bag_label, window, "")


def _list_file(bag_label: str, folder: Path, path: Path, settings: Settings) -> Iterator[Bag]:
    n_pages = count_pages(path) if is_stack(path) else 1
    pages = [path]
    if n_pages > 1 and settings.pages == "all":
        n_digits = len(str(n_pages - 1))
        pages = [name_view(path, PictureView(f"{number:0{n_digits}d}")) for number in range(n_pages)]
    for page in pages:
        name, warning = f"{bag_label}/{page.relative_to(folder).as_posix()}", ""
        if page != path and page.exists():
            raise BadInputError(f"{page} is called like a page of {path.name}; rename it")
        if n_pages > len(pages):
            warning = f"{path}: only the first of {n_pages} pages was read; --pages all makes every page an image"
        if page.suffix.lower() in ANIMATED_EXTENSIONS and not is_video(page) and (n_frames := count_frames(page)) > 1:
            warning = f"{path}: only the first frame of {n_frames} was read; save the frames as pictures or a video"
        source = page if is_video(page) else choose_window(page, settings.window)
        yield Bag(name, bag_label, source, "", warning=warning)
