"""From a folder to what its bags are made of: images, pages of stacks, videos; and what of it is not read."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from segvote.errors import BadInputError
from segvote.io.images import list_images
from segvote.io.picture_formats import count_extensions, describe_found
from segvote.io.picture_views import TIFF_EXTENSIONS, PictureView, Reading, name_view
from segvote.io.tiff_stacks import StackLayout, measure_stack
from segvote.run.videos import is_video, split_videos


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
