"""Videos of a run: which files and folders are videos, their key frames in the run folder, the masks of their frames.

The segments of each key frame are a file like that of an image. Segments of a video are those of the key frames that
vote, numbered over all of them; a segment of another key frame has the number of the most similar one.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from segvote.errors import BadInputError
from segvote.io.arrays import read_arrays
from segvote.io.images import list_images
from segvote.io.masks import read_mask
from segvote.io.video.reading import VIDEO_EXTENSIONS, is_frame_folder, is_numbered_folder, list_frames
from segvote.run.output_names import name_frames
from segvote.types import Annotation, Part

if TYPE_CHECKING:  # the record of a run names its bags, which may be videos
    from segvote.run.record import BagRecord
    from segvote.run.run_folder import RunFolder

FRAMES = ("auto", "images", "video")
TRACK = 1  # one object, one track
FRAME_ARRAYS = ("frames", "starts", "frame_indices", "key_indices", "poster")
N_AHEAD = 4  # frames that are decoded before they are asked for
Item = TypeVar("Item")


def is_video(path: Path) -> bool:
    """Whether the path of a bag is a folder of frames or a film file."""
    return path.is_dir() or path.suffix.lower() in VIDEO_EXTENSIONS


def split_videos(folder: Path, images: Sequence[Path], frames: str = "auto") -> list[Path]:
    """Images and videos, sorted by their path below *with* or *without*, from all pictures there and the film files.

    A folder of frames replaces its pictures: a sub-folder of numbered pictures of one size, each similar to the next.
    When most sub-folders of numbered pictures are videos, all of them are: a camera may pan fast. With
    ``frames="video"`` every sub-folder with pictures is a video, with ``frames="images"`` none.
    """
    if frames not in FRAMES:
        raise BadInputError(f"frames must be one of {', '.join(FRAMES)}; got {frames!r}")
    folders = _find_frame_folders(folder, images, frames)
    rest = [path for path in images if path.parent not in folders]
    return sorted(
        [*rest, *folders, *list_images(folder, VIDEO_EXTENSIONS)], key=lambda path: path.relative_to(folder).as_posix()
    )


def _find_frame_folders(folder: Path, images: Sequence[Path], frames: str) -> set[Path]:
    """Sub-folders that are videos; pictures directly in the folder are bags."""
    candidates = {path.parent for path in images} - {folder}
    if frames == "images":
        return set()
    if frames == "video":
        return {one for one in candidates if list_frames(one)}
    numbered = {one for one in candidates if is_numbered_folder(one)}
    videos = {one for one in numbered if is_frame_folder(one)}
    return numbered if 2 * len(videos) > len(numbered) else videos


def name_key_frame(key: str, index: int) -> str:
    """Name of the segments, or the features, of a key frame by its number in the source; `key` is the video's."""
    return f"{key}.frames/{index:05d}"


@dataclass(frozen=True)
class KeyFrames:
    """Label maps of the key frames of a video; the segments of those that vote are the segments of the video."""

    run: RunFolder
    key: str  # of its segments
    arrays: Mapping[str, np.ndarray]  # see `segvote.steps.video.extract`
    numbers: np.ndarray  # (n,) segment of the video for each segment of a key frame, those that vote first

    @classmethod
    def open(cls, run: RunFolder, segments_key: str, features_key: str) -> KeyFrames:
        arrays = read_arrays(run.segments_path(segments_key), FRAME_ARRAYS)
        own = np.arange(len(arrays["frames"]), dtype=np.int32)
        matches = read_arrays(run.features_path(features_key), ("matches",)).get("matches", own[:0])
        return cls(run, segments_key, arrays, np.concatenate([own, matches]))

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


def read_ahead(items: Iterable[Item]) -> Iterator[Item]:
    """The same items, decoded by a thread a few items ahead of their use."""
    source, end = iter(items), object()
    with ThreadPoolExecutor(1) as thread:
        waiting = deque(thread.submit(next, source, end) for _ in range(N_AHEAD))
        while (item := waiting.popleft().result()) is not end:
            waiting.append(thread.submit(next, source, end))
            yield item  # type: ignore[misc]


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
