"""Masks of the frames of a video, as a run keeps them and as annotations."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from segvote.io.arrays import read_arrays
from segvote.io.masks import read_mask
from segvote.io.video.reading import list_frames
from segvote.run.record import BagRecord
from segvote.run.run_folder import RunFolder
from segvote.run.video.frames import list_frame_stems
from segvote.types import Annotation, Part

TRACK = 1  # one object, one track


def get_frame_mask_path(run: RunFolder, stem: str, frame: str) -> Path:
    """The mask of one frame, by the frame's name without extension."""
    return run.mask_path(f"{stem}/{frame}")


def list_frame_annotations(run: RunFolder, record: BagRecord, source: Path, label: str) -> Iterator[Annotation]:
    """One annotation for each frame of a video, all of one track; masks are read one at a time."""
    indices = read_arrays(run.segments_path(record.segments))["frame_indices"]
    files = list_frames(source) if source.is_dir() else []
    for index, stem in zip(indices, list_frame_stems(source, indices), strict=True):
        mask = read_mask(get_frame_mask_path(run, record.stem, stem)) == 255
        path = files[index] if files else None
        name = f"{record.name}/{path.name if path else f'{stem}.png'}"
        parts = (Part(label, mask, record.score, TRACK),) if mask.any() else ()
        properties: dict[str, object] = {"video": record.name, "frame": int(index), "source": source}
        yield Annotation(name, record.height, record.width, parts, image_path=path, properties=properties)
