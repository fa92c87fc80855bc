"""Videos on disk to a stream of frames: a film file or a folder of numbered pictures, read once, one frame at a time.

A frame is (h, w, 3) uint8 RGB as it is displayed, with its number in the source and its time. What is damaged is left
out and reported in `VideoStream.problem`; a video without a single readable frame raises `UnreadableImageError`.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Collection, Container, Iterator
from dataclasses import dataclass
from pathlib import Path

import cv2
import numpy as np

from segvote.errors import BadInputError, UnreadableImageError
from segvote.io.decoding import check_regular_file
from segvote.io.images import IMAGE_EXTENSIONS, hash_file, read_image, read_image_size
from segvote.io.video.files import read_film

VIDEO_EXTENSIONS = frozenset({".avi", ".m4v", ".mkv", ".mov", ".mp4", ".webm"})
FRAME_RATE = 25.0  # of a folder of frames, which has no times of its own

# A folder of photographs is no video: frames are many, and neighbours in time look alike. The median correlation of
# neighbours' thumbnails was .96 to .998 on seven action videos; on five sets of photographs .09 to .70, the latter for
# aeroplanes that all stand on the same airfield.
MIN_FRAMES = 8
MIN_LIKENESS = 0.85
N_COMPARED = 8
THUMBNAIL = (16, 16)


@dataclass(frozen=True)
class Frame:
    """One frame of a video."""

    index: int  # its number in the source, from 0; frames that were not asked for are counted
    time: float  # seconds since the first frame
    image: np.ndarray  # (h, w, 3) uint8 RGB, rotation applied


class VideoStream:
    """Frames of a video, a film file or a folder, in the order of time; iterating again reads the source again.

    Every n-th frame is kept, or about `fps` frames per second of the video's own time, whatever its frame rate does.
    Afterwards `problem` says what was left out, if anything.
    """

    def __init__(self, path: Path | str, every: int = 1, fps: float | None = None) -> None:
        _check_sampling(every, fps)
        self.path, self.every, self.fps = Path(path), every, fps
        self.problem = ""

    def __iter__(self) -> Iterator[Frame]:
        problems: list[str] = []
        self.problem, n_read = "", 0
        for frame in sample_frames(self._read_all(problems), self.every, self.fps):
            n_read += 1
            yield frame
        self.problem = "; ".join(problems)
        if not n_read:
            raise UnreadableImageError(f"{self.path}: no frame can be read ({self.problem or 'it holds none'})")

    def _read_all(self, problems: list[str]) -> Iterator[Frame]:
        return _read_source(self.path, problems)


def read_frames(path: Path | str, indices: Collection[int]) -> Iterator[Frame]:
    """Only the frames of these numbers in the source, in the order of time; those that cannot be read are left out."""
    wanted, last = set(indices), max(indices, default=-1)
    for frame in _read_source(Path(path), [], wanted) if wanted else ():
        if frame.index in wanted:
            yield frame
        if frame.index >= last:
            return


def _read_source(path: Path, problems: list[str], wanted: Container[int] | None = None) -> Iterator[Frame]:
    """All frames, or (`wanted`) the first one, whose size is that of all, and those of some numbers."""
    if path.is_dir():
        return read_frame_folder(path, problems, wanted)
    return (Frame(*parts) for parts in read_film(path, problems, wanted))


def open_video(path: Path | str, every: int = 1, fps: float | None = None) -> VideoStream:
    """Open a film (mp4, mov, avi, mkv, webm) or a folder of frames; at most one of `every` and `fps` samples it."""
    path = Path(path)
    if path.is_dir():
        if not list_frames(path):
            raise BadInputError(f"{path}: expected a folder of frames, it holds no picture; check the path")
    else:
        check_regular_file(path)
    return VideoStream(path, every, fps)


def _check_sampling(every: int, fps: float | None) -> None:
    if every < 1:
        raise BadInputError(f"every must be at least 1, got {every}; 1 keeps all frames")
    if fps is not None and not (math.isfinite(fps) and fps > 0):
        raise BadInputError(f"fps must be above 0, got {fps}; leave it out to keep all frames")
    if fps is not None and every != 1:
        raise BadInputError(f"give every or fps, not both; got every {every} and fps {fps}")


def sample_frames(frames: Iterator[Frame], every: int = 1, fps: float | None = None) -> Iterator[Frame]:
    """Every n-th frame, or the first frame at or after each tick of a clock of `fps`."""
    next_tick = 0
    for frame in frames:
        if fps is None:
            if frame.index % every == 0:
                yield frame
            continue
        tick = math.floor(frame.time * fps + 1e-6)
        if tick >= next_tick:
            next_tick = tick + 1
            yield frame


# Folders of frames ---------------------------------------------------------------------------------------------------


def list_frames(folder: Path | str) -> list[Path]:
    """Pictures directly in a folder, in the order of the numbers in their names (``f2`` before ``f10``)."""
    entries = (path for path in Path(folder).iterdir() if not path.name.startswith("."))
    return sorted((path for path in entries if path.suffix.lower() in IMAGE_EXTENSIONS), key=_order_naturally)


def _order_naturally(path: Path) -> tuple[list[tuple[int, int | str]], str]:
    parts = re.split(r"(\d+)", path.name)
    return [(0, int(part)) if part.isdecimal() else (1, part) for part in parts if part], path.name


def read_frame_folder(folder: Path, problems: list[str], wanted: Container[int] | None = None) -> Iterator[Frame]:
    """All frames of a folder, resized to the first; unreadable ones are left out and reported."""
    size: tuple[int, int] | None = None
    for index, path in enumerate(list_frames(folder)):
        if size and wanted is not None and index not in wanted:
            continue
        try:
            image = read_image(path)
        except UnreadableImageError as error:
            problems.append(str(error))
            continue
        size = size or (image.shape[1], image.shape[0])
        if (image.shape[1], image.shape[0]) != size:
            image = cv2.resize(image, size, interpolation=cv2.INTER_AREA)
        yield Frame(index, index / FRAME_RATE, image)


def is_numbered_folder(folder: Path | str) -> bool:
    """Whether a folder holds nothing but two or more numbered pictures, the first and the last of one size."""
    folder = Path(folder)
    entries = [entry for entry in folder.iterdir() if not entry.name.startswith(".")] if folder.is_dir() else []
    frames = list_frames(folder) if entries else []
    if len(frames) < 2 or len(frames) != len(entries) or not _are_numbered(frames):
        return False
    try:
        return read_image_size(frames[0]) == read_image_size(frames[-1])
    except UnreadableImageError:
        return False


def is_frame_folder(folder: Path | str) -> bool:
    """Whether a folder looks like a video: numbered pictures of one size, each like the next.

    Photographs that a camera numbered pass the first tests, not the last one: their neighbours differ.
    """
    if not is_numbered_folder(folder) or len(frames := list_frames(folder)) < MIN_FRAMES:
        return False
    picks = np.unique(np.linspace(0, len(frames) - 2, N_COMPARED).round().astype(int))
    try:
        if len({read_image_size(frames[index]) for index in picks}) != 1:
            return False
        return float(np.median([_compare(frames[index], frames[index + 1]) for index in picks])) > MIN_LIKENESS
    except UnreadableImageError:
        return False


def _are_numbered(frames: list[Path]) -> bool:
    found = [re.fullmatch(r"(.*?)(\d+)", path.stem) for path in frames]
    return all(found) and len({match[1] for match in found if match}) == 1


def _compare(one: Path, other: Path) -> float:
    return measure_likeness(*(make_thumbnail(read_image(path)) for path in (one, other)))


def make_thumbnail(image: np.ndarray) -> np.ndarray:
    """(16, 16) uint8 grey version of a picture."""
    small = cv2.resize(image, THUMBNAIL, interpolation=cv2.INTER_AREA)
    return cv2.cvtColor(small, cv2.COLOR_RGB2GRAY)


def measure_likeness(one: np.ndarray, other: np.ndarray) -> float:
    """Correlation of two thumbnails; 1 where both are flat."""
    first, second = (thumbnail - thumbnail.mean(dtype=np.float64) for thumbnail in (one, other))
    scale = np.linalg.norm(first) * np.linalg.norm(second)
    return float((first * second).sum() / scale) if scale > 0 else 1.0


# Both ----------------------------------------------------------------------------------------------------------------


def is_video_file(path: Path | str) -> bool:
    """Whether the name is that of a film file."""
    return Path(path).suffix.lower() in VIDEO_EXTENSIONS


def hash_video(path: Path | str) -> str:
    """SHA-256 of a file's bytes, or of the names and contents of all frames of a folder, in hexadecimal."""
    path = Path(path)
    if not path.is_dir():
        return hash_file(path)
    digest = hashlib.sha256()
    for frame in list_frames(path):
        try:
            content = hash_file(frame)
        except UnreadableImageError:
            content = "unreadable"  # it is left out when it is read, and said so then
        digest.update(f"{frame.name}\0{content}\0".encode(errors="surrogateescape"))
    return digest.hexdigest()
