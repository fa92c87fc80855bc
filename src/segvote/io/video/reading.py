"""Videos on disk as streams of frames: film files and folders of numbered pictures, one frame in memory at a time.

Damaged parts are left out and reported in `VideoStream.problem`; a video without a single readable frame raises
`UnreadableImageError`.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections import deque
from collections.abc import Collection, Container, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

import cv2
import numpy as np

from segvote.errors import BadInputError, UnreadableImageError
from segvote.io.decoding import check_regular_file
from segvote.io.images import IMAGE_EXTENSIONS, hash_file, read_image, read_image_size, read_small_image
from segvote.io.video.files import FRAME_RATE, Frame, read_film

N_AHEAD = 4  # frames that are decoded before they are asked for
Item = TypeVar("Item")
VIDEO_EXTENSIONS = frozenset({".avi", ".m4v", ".mkv", ".mov", ".mp4", ".webm"})

# Frames of a video are many, and neighbours look alike. The median correlation of neighbours' thumbnails was .96 to
# .998 on seven action videos, and .09 to .70 on five sets of photographs.
MIN_FRAMES = 8
MIN_LIKENESS = 0.85
N_COMPARED = 8
THUMBNAIL = (16, 16)
SMALL_SIZE = 64  # longest side from which thumbnails are made: JPEG files are decoded at an eighth of their size


class VideoStream:
    """Frames of a film (mp4, mov, avi, mkv, webm) or of a folder, in the order of time.

    Every n-th frame is kept, or about `fps` frames per second. Pictures of folders may be read `small`, for thumbnails,
    which is faster. Each iteration reads the source again; afterwards `problem` lists the parts that were left out.
    """

    def __init__(self, path: Path | str, every: int = 1, fps: float | None = None, small: bool = False) -> None:
        if every < 1:
            raise BadInputError(f"every must be at least 1, got {every}; 1 keeps all frames")
        if fps is not None and not (math.isfinite(fps) and fps > 0):
            raise BadInputError(f"fps must be above 0, got {fps}; leave it out to keep all frames")
        if fps is not None and every != 1:
            raise BadInputError(f"give every or fps, not both; got every {every} and fps {fps}")
        self.path, self.every, self.fps, self.small, self.problem = Path(path), every, fps, small, ""
        if not self.path.is_dir():
            check_regular_file(self.path)
        elif not list_frames(self.path):
            raise BadInputError(f"{path}: expected a folder of frames, it holds no picture; check the path")

    def __iter__(self) -> Iterator[Frame]:
        problems: list[str] = []
        self.problem, next_tick = "", 0
        for frame in _read_source(self.path, problems, small=self.small):
            tick = frame.index // self.every if self.fps is None else math.floor(frame.time * self.fps + 1e-6)
            if tick >= next_tick:
                next_tick = tick + 1
                yield frame
        self.problem = "; ".join(problems)
        if not next_tick:
            raise UnreadableImageError(f"{self.path}: no frame can be read ({self.problem or 'it holds none'})")


def read_frames(path: Path | str, indices: Collection[int]) -> Iterator[Frame]:
    """Only the frames of these numbers in the source, in the order of time; those that cannot be read are left out."""
    wanted, last = set(indices), max(indices, default=-1)
    for frame in _read_source(Path(path), [], wanted) if wanted else ():
        if frame.index in wanted:
            yield frame
        if frame.index >= last:
            return


def read_ahead(items: Iterable[Item]) -> Iterator[Item]:
    """The same items, decoded by a thread a few items ahead of their use."""
    source, end = iter(items), object()
    with ThreadPoolExecutor(1) as thread:
        waiting = deque(thread.submit(next, source, end) for _ in range(N_AHEAD))
        while (item := waiting.popleft().result()) is not end:
            waiting.append(thread.submit(next, source, end))
            yield item  # type: ignore[misc]


def _read_source(
    path: Path, problems: list[str], wanted: Container[int] | None = None, small: bool = False
) -> Iterator[Frame]:
    """All frames, or (`wanted`) the first one, whose size is that of all, and those of some numbers."""
    shape: tuple[int, ...] = ()
    for frame in _read_folder(path, problems, wanted, small) if path.is_dir() else read_film(path, problems, wanted):
        shape = shape or frame.image.shape
        if frame.image.shape != shape:  # some containers change size on the way
            image = cv2.resize(frame.image, (shape[1], shape[0]), interpolation=cv2.INTER_AREA)
            frame = replace(frame, image=image)
        yield frame


def list_frames(folder: Path | str) -> list[Path]:
    """Pictures directly in a folder, in the order of the numbers in their names (``f2`` before ``f10``)."""
    entries = (path for path in Path(folder).iterdir() if not path.name.startswith("."))
    return sorted((path for path in entries if path.suffix.lower() in IMAGE_EXTENSIONS), key=_order_naturally)


def _order_naturally(path: Path) -> tuple[list[tuple[int, int | str]], str]:
    parts = re.split(r"(\d+)", path.name)
    return [(0, int(part)) if part.isdecimal() else (1, part) for part in parts if part], path.name


def _read_folder(folder: Path, problems: list[str], wanted: Container[int] | None, small: bool) -> Iterator[Frame]:
    """All frames of a folder, or the first and those `wanted`; unreadable ones are left out and reported."""
    is_first = True
    for index, path in enumerate(list_frames(folder)):
        if not is_first and wanted is not None and index not in wanted:
            continue
        try:
            image = read_small_image(path, SMALL_SIZE) if small else read_image(path)
        except UnreadableImageError as error:
            problems.append(str(error))
            continue
        is_first = False
        yield Frame(index, index / FRAME_RATE, image)


def is_numbered_folder(folder: Path | str) -> bool:
    """Whether a folder holds only two or more numbered pictures, the first and the last of one size."""
    entries = [path for path in Path(folder).glob("*") if not path.name.startswith(".")]
    frames = list_frames(folder) if entries else []
    names = {re.sub(r"\d+$", "0", path.stem) for path in frames}
    if len(frames) < 2 or len(frames) != len(entries) or len(names) > 1 or not names.pop().endswith("0"):
        return False
    try:
        return read_image_size(frames[0]) == read_image_size(frames[-1])
    except UnreadableImageError:
        return False


def is_frame_folder(folder: Path | str) -> bool:
    """Whether a folder looks like a video: numbered pictures of one size, each like the next.

    Photographs with numbers of a camera fail the last test.
    """
    if not is_numbered_folder(folder) or len(frames := list_frames(folder)) < MIN_FRAMES:
        return False
    picks = np.unique(np.linspace(0, len(frames) - 2, N_COMPARED).round().astype(int))
    try:
        sizes = {read_image_size(frames[index]) for index in picks}
        small = [[make_thumbnail(read_small_image(frames[k], SMALL_SIZE)) for k in (i, i + 1)] for i in picks]
    except UnreadableImageError:
        return False
    return len(sizes) == 1 and float(np.median([measure_likeness(*pair) for pair in small])) > MIN_LIKENESS


def make_thumbnail(image: np.ndarray) -> np.ndarray:
    """(16, 16) uint8 grey version of a picture."""
    small = cv2.resize(image, THUMBNAIL, interpolation=cv2.INTER_AREA)
    return cv2.cvtColor(small, cv2.COLOR_RGB2GRAY)


def measure_likeness(one: np.ndarray, other: np.ndarray) -> float:
    """Correlation of two thumbnails; 1 where both are flat."""
    first, second = (thumbnail - thumbnail.mean(dtype=np.float64) for thumbnail in (one, other))
    scale = np.linalg.norm(first) * np.linalg.norm(second)
    return float((first * second).sum() / scale) if scale > 0 else 1.0


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
            content = "unreadable"  # left out and reported when the video is read
        digest.update(f"{frame.name}\0{content}\0".encode(errors="surrogateescape"))
    return digest.hexdigest()
