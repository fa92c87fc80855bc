"""The label maps of a video on disk, a few frames to a file, and the walk over a video's frames beside them.

Nothing here holds a whole clip: files of label maps are read one after the other while the frames are decoded, and a
thread decodes a few frames ahead.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import numpy as np

from segvote.io.arrays import read_arrays, write_arrays
from segvote.io.video.reading import VideoStream, list_frames
from segvote.run.output_names import name_frames
from segvote.run.run_folder import RunFolder

FRAMES_PER_FILE = 32
N_AHEAD = 4  # frames that are decoded before they are asked for
Item = TypeVar("Item")


@dataclass(frozen=True)
class StoredFrame:
    """One segmented frame."""

    index: int  # number in the source
    time: float  # seconds from its beginning
    labels: np.ndarray  # (h, w) supervoxel numbers at working size


class FrameMaps:
    """Takes the label maps of a video in order and writes them in files of a few frames."""

    def __init__(self, run: RunFolder, key: str) -> None:
        self._run, self._key = run, key
        self._pending: list[StoredFrame] = []
        self.n_files = 0

    def add(self, frame: StoredFrame) -> None:
        """Take the next frame."""
        self._pending.append(frame)
        if len(self._pending) == FRAMES_PER_FILE:
            self.flush()

    def flush(self) -> None:
        """Write what is waiting."""
        if not self._pending:
            return
        write_arrays(
            _get_maps_path(self._run, self._key, self.n_files),
            compress=True,
            labels=np.stack([frame.labels for frame in self._pending]).astype(np.uint32),
            indices=np.array([frame.index for frame in self._pending], np.int64),
            times=np.array([frame.time for frame in self._pending], np.float64),
        )
        self.n_files += 1
        self._pending = []


def list_stored_frames(run: RunFolder, key: str, n_files: int) -> Iterator[StoredFrame]:
    """The label maps of a video in order, one file in memory at a time."""
    for number in range(n_files):
        arrays = read_arrays(_get_maps_path(run, key, number))
        for index, time, labels in zip(arrays["indices"], arrays["times"], arrays["labels"], strict=True):
            yield StoredFrame(int(index), float(time), labels.astype(np.int32))


def read_frame_labels(run: RunFolder, key: str, frame: int) -> np.ndarray:
    """(h, w) supervoxels of a frame by its number in the source, or of the nearest segmented one; -1: the poster."""
    segments = read_arrays(run.segments_path(key))
    if frame < 0:
        return segments["labels"]
    number = int(np.abs(segments["frame_indices"] - frame).argmin())
    arrays = read_arrays(_get_maps_path(run, key, number // FRAMES_PER_FILE))
    return arrays["labels"][number % FRAMES_PER_FILE].astype(np.int32)


def _get_maps_path(run: RunFolder, key: str, number: int) -> Path:
    return run.segments_path(f"{key}.frames/{number:05d}")


def get_poster_path(run: RunFolder, key: str) -> Path:
    """The one frame that stands for a video where a page shows pictures."""
    return run.path / "posters" / f"{key}.jpg"


def list_frame_stems(path: Path, indices: np.ndarray) -> list[str]:
    """Names without extension of the frames at some indices."""
    if not path.is_dir():
        return [f"{index:05d}" for index in indices]
    names = name_frames([frame.name for frame in list_frames(path)])
    return [names[index] for index in indices]


def read_ahead(items: Iterable[Item]) -> Iterator[Item]:
    """The same items, fetched by a thread that runs a little ahead: decoding goes on while frames are worked on."""
    waiting: queue.Queue[tuple[str, object]] = queue.Queue(maxsize=N_AHEAD)
    stop = threading.Event()

    def put(kind: str, value: object) -> None:
        while not stop.is_set():
            try:
                return waiting.put((kind, value), timeout=0.1)
            except queue.Full:
                continue

    def fetch() -> None:
        try:
            for item in items:
                put("item", item)
                if stop.is_set():
                    return
            put("end", None)
        except BaseException as error:  # handed to whoever waits for the next item
            put("error", error)

    thread = threading.Thread(target=fetch, daemon=True)
    thread.start()
    try:
        while True:
            kind, value = waiting.get()
            if kind == "end":
                return
            if kind == "error":
                raise value  # type: ignore[misc]
            yield value  # type: ignore[misc]
    finally:
        stop.set()
        thread.join()


def walk_frames(stream: VideoStream, maps: Iterable[StoredFrame]) -> Iterator[tuple[np.ndarray, StoredFrame]]:
    """Frames of a video beside their label maps; frames without a map are passed over."""
    stored = iter(maps)
    wanted = next(stored, None)
    for frame in read_ahead(stream):
        if wanted is None:
            return
        if frame.index == wanted.index:
            yield frame.image, wanted
            wanted = next(stored, None)
