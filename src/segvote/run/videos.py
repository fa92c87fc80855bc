"""Videos of a run: their key frames in the run folder, the masks of their frames.

The segments of each key frame are a file like that of an image. Segments of a video are those of the key frames that
vote, numbered over all of them; a segment of another key frame has the number of the most similar one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from segvote.io.arrays import read_arrays
from segvote.io.masks import read_mask
from segvote.io.video.reading import list_frames
from segvote.run.features import read_matches
from segvote.run.output_names import name_frames
from segvote.types import Annotation, Part

if TYPE_CHECKING:  # the record of a run names its bags, which may be videos
    from segvote.run.record import BagRecord
    from segvote.run.run_folder import RunFolder

TRACK = 1  # one object, one track
FRAME_ARRAYS = ("frames", "starts", "frame_indices", "key_indices", "poster", "tubes")


def name_key_frame(key: str, index: int) -> str:
    """Name of the segments, or the features, of a key frame by its number in the source; `key` is the video's."""
    return f"{key}.frames/{index:05d}"


def name_tubes(key: str, index: int) -> str:
    """Name of the supervoxels of a frame by its number in the source; `key` is the video's."""
    return f"{key}.tubes/{index:05d}"


@dataclass(frozen=True)
class KeyFrames:
    """Label maps of the key frames of a video; the segments of those that vote are the segments of the video."""

    run: RunFolder
    key: str  # of its segments
    arrays: Mapping[str, np.ndarray]  # see `segvote.pipeline.video.extract`
    numbers: np.ndarray  # (n,) segment of the video for each segment of a key frame, those that vote first

    @classmethod
    def open(cls, run: RunFolder, segments_key: str, features_key: str) -> KeyFrames:
        arrays = read_arrays(run.segments_path(segments_key), FRAME_ARRAYS)
        own = np.arange(len(arrays["frames"]), dtype=np.int32)
        matches = read_matches(run.features_path(features_key))
        return cls(run, segments_key, arrays, np.concatenate([own, matches]))

    @property
    def has_tubes(self) -> bool:
        """Whether segments are slices of supervoxels, whose tubes are known in every frame."""
        return "tubes" in self.arrays

    def read_labels(self, number: int) -> np.ndarray:
        """(h, w) int32 segments, numbered over the whole video, of a key frame, counted from 0."""
        path = self.run.segments_path(name_key_frame(self.key, int(self.arrays["key_indices"][number])))
        return self.numbers[read_arrays(path, ("labels",))["labels"] + self.arrays["starts"][number]]

    def find_nearest(self, frame: int) -> int:
        """The key frame nearest to a frame by its number in the source; of the poster for -1."""
        return int(np.abs(self.arrays["key_indices"] - (self.arrays["poster"] if frame < 0 else frame)).argmin())


def get_poster_path(run: RunFolder, key: str) -> Path:
    """Path of the frame that pages show for a video."""
    return run.path / "posters" / f"{key}.jpg"


def list_frame_stems(path: Path, indices: np.ndarray) -> list[str]:
    """Names without extension of the frames at some indices."""
    if not path.is_dir():
        return [f"{index:05d}" for index in indices]
    names = name_frames([frame.name for frame in list_frames(path)])
    return [names[index] for index in indices]


def list_frame_images(run: RunFolder, record: BagRecord, source: Path) -> Iterator[tuple[str, Annotation]]:
    """Stem of each frame of a video, and the frame as an image without parts."""
    indices = read_arrays(run.segments_path(record.segments), ("frame_indices",))["frame_indices"]
    files = list_frames(source) if source.is_dir() else []
    for index, stem in zip(indices, list_frame_stems(source, indices), strict=True):
        path = files[index] if files else None
        name = f"{record.name}/{path.name if path else f'{stem}.png'}"
        properties: dict[str, object] = {"video": record.name, "frame": int(index), "source": source}
        yield stem, Annotation(name, record.height, record.width, image_path=path, properties=properties)


def list_frame_annotations(run: RunFolder, record: BagRecord, source: Path, label: str) -> Iterator[Annotation]:
    """One annotation for each frame of a video, all of one track; masks are read one at a time."""
    for stem, frame in list_frame_images(run, record, source):
        mask = read_mask(run.mask_path(f"{record.stem}/{stem}")) == 255
        yield replace(frame, parts=(Part(label, mask, record.score, TRACK),) if mask.any() else ())
