"""Pictures beside their annotations: hard links, copies, or none."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

from PIL import ExifTags, Image

from segvote.errors import BadInputError, UnreadableImageError
from segvote.io.atomic import atomic_path
from segvote.io.decoding import open_picture, orient, read_orientation
from segvote.io.exports.base import ExportOptions
from segvote.io.picture_views import split_view
from segvote.types import Annotation

JPEG_END = b"\xff\xd9"


def place_image(annotation: Annotation, target: Path, options: ExportOptions) -> None:
    """Put the picture at `target` as ``options.images`` asks: a hard link, a copy, or nothing.

    A picture that relies on EXIF orientation, is a page or channel of a file, or has another format than `target`, is
    written anew: not every tool reads these.
    """
    if options.images == "none":
        return
    source = find_picture(annotation)
    if _is_same(target, source):
        return  # renaming a file onto a link of itself would leave both names
    try:
        turned, kind, profile = _turn(source, target)
    except UnreadableImageError as error:
        raise UnreadableImageError(f"{error}; images 'none' exports the masks alone") from error
    # A link must not be flushed: the picture may be read-only, and it is on the disk.
    with _named_if_gone(source), atomic_path(target, durable=turned is not None) as temporary:
        if turned is not None:
            turned.save(temporary, format=kind, quality=95, icc_profile=profile)
        elif options.images == "copy" or _may_be_repaired(source) or not _link(source, temporary):
            shutil.copyfile(source, temporary)


@contextlib.contextmanager
def _named_if_gone(source: Path) -> Iterator[None]:
    """Name a picture that was removed since it was opened first."""
    try:
        yield
    except FileNotFoundError as error:
        raise UnreadableImageError(
            f"{source} is not there any more; put it back, or use images 'none' to export the masks alone"
        ) from error


def _is_same(target: Path, source: Path) -> bool:
    """Whether both names lead to one file; not where one of them leads to none."""
    try:
        return target.samefile(source)
    except OSError:
        return False


def find_picture(annotation: Annotation) -> Path:
    """The picture of an annotation on disk; `BadInputError` where there is none."""
    if annotation.image_path is None:
        raise BadInputError(f"{annotation.name}: there is no picture on disk; export with images 'none'")
    return annotation.image_path


def _link(source: Path, target: Path) -> bool:
    """Whether a hard link could be made: not across file systems, and not on every one."""
    try:
        os.link(source.resolve(), target)  # of what a symbolic link leads to
    except OSError:
        return False
    return True


def _may_be_repaired(source: Path) -> bool:
    """Whether a trainer would write into the picture: Ultralytics saves a JPEG without its end mark again, in place."""
    if find_kind(source.suffix) != "JPEG":
        return False
    with source.open("rb") as file:
        file.seek(-len(JPEG_END), os.SEEK_END)
        return file.read() != JPEG_END


def _turn(source: Path, target: Path) -> tuple[Image.Image | None, str, bytes | None]:
    """The upright picture with its format and colour profile; None for a file that is upright as it is."""
    path, view = split_view(source)
    kind = find_kind(target.suffix)
    is_same = not str(view) and find_kind(path.suffix) == kind
    with open_picture(source) as picture:
        # A plain copy has none of the tags that the writers would carry over.
        turned = None if is_same and _is_upright(picture) else orient(picture).copy()
        return turned, kind, picture.info.get("icc_profile")


def find_kind(suffix: str) -> str:
    """Pillow's name of the format that an extension stands for."""
    return Image.registered_extensions().get(suffix.lower(), "PNG")


def _is_upright(picture: Image.Image) -> bool:
    tags = getattr(picture, "tag_v2", {})  # TIFF, which Pillow turns itself
    return read_orientation(picture) == 1 and tags.get(ExifTags.Base.Orientation, 1) == 1
