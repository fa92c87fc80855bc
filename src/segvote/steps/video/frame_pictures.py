"""Frames of film files as pictures on disk, for exports that need a picture beside every mask."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

from PIL import Image

from segvote.errors import UnreadableImageError
from segvote.io.files import open_scratch
from segvote.io.video.reading import Frame, open_video
from segvote.types import Annotation


def add_frame_pictures(annotations: Iterable[Annotation]) -> Iterator[Annotation]:
    """Give each frame of a film file a picture, a PNG that exists until the next annotation is asked for."""
    film: Path | None = None
    frames: Iterator[Frame] = iter(())
    with contextlib.ExitStack() as stack:
        picture: Path | None = None
        for annotation in annotations:
            source = annotation.properties.get("source")
            if annotation.image_path is not None or not isinstance(source, Path):
                yield annotation
                continue
            if source != film:
                film, frames = source, iter(open_video(source))
            if picture is None:
                picture = stack.enter_context(open_scratch()) / "frame.png"
            picture.unlink(missing_ok=True)  # an export may have linked it: writing into it would change that file
            Image.fromarray(_find_frame(frames, annotation).image).save(picture, compress_level=1)
            yield replace(annotation, image_path=picture)


def _find_frame(frames: Iterator[Frame], annotation: Annotation) -> Frame:
    wanted = annotation.properties["frame"]
    for frame in frames:
        if frame.index == wanted:
            return frame
    raise UnreadableImageError(f"{annotation.name}: the video has no frame {wanted} any more; annotate again")
