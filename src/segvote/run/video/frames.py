"""Key frames of a video in the run folder, names of its frames, and frames decoded ahead.

The segments of each key frame are a file like that of an image. Segments of a video are those of its key frames one
after the other, numbered over all of them.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

import numpy as np

from segvote.io.arrays import read_arrays
from segvote.io.video.reading import list_frames
from segvote.run.output_names import name_frames
from segvote.run.run_folder import RunFolder

N_AHEAD = 4  # frames that are decoded before they are asked for
Item = TypeVar("Item")


def name_key_frame(key: str, index: int) -> str:
    """Name of the segments, or the features, of a key frame by its number in the source; `key` is the video's."""
    return f"{key}.frames/{index:05d}"


def find_key_frame(segments: Mapping[str, np.ndarray], frame: int) -> int:
    """Which of the key frames, from 0, is nearest to a frame by its number in the source; the poster's for -1."""
    wanted = int(segments["poster"]) if frame < 0 else frame
    return int(np.abs(segments["key_indices"] - wanted).argmin())


def read_key_labels(run: RunFolder, key: str, segments: Mapping[str, np.ndarray], number: int) -> np.ndarray:
    """(h, w) int32 segments, numbered over the whole video, of one of its key frames, counted from 0."""
    path = run.segments_path(name_key_frame(key, int(segments["key_indices"][number])))
    labels = read_arrays(path, ("labels",))["labels"].astype(np.int32)
    return labels + np.int32(segments["starts"][number])


def read_frame_labels(
    run: RunFolder, key: str, frame: int, segments: Mapping[str, np.ndarray] | None = None
) -> np.ndarray:
    """(h, w) segments of the key frame nearest to a frame by its number in the source; -1: of the poster.

    `segments` are the video's, where they are known already.
    """
    segments = segments or read_arrays(run.segments_path(key), ("starts", "key_indices", "poster"))
    return read_key_labels(run, key, segments, find_key_frame(segments, frame))


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
    source, end = iter(items), object()
    with ThreadPoolExecutor(1) as thread:
        waiting = deque(thread.submit(next, source, end) for _ in range(N_AHEAD))
        while (item := waiting.popleft().result()) is not end:
            waiting.append(thread.submit(next, source, end))
            yield item  # type: ignore[misc]
