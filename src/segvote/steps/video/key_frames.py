"""Key frames of a video, which are segmented and vote like images: evenly spaced, and where the picture changes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from segvote.io.video.reading import VideoStream, make_thumbnail, measure_likeness
from segvote.run.video.frames import read_ahead

EVERY = 8  # frames from one key frame to the next, at most
LEAST = 5  # key frames of a video, where it has as many frames
# Correlation of thumbnails below which a frame shows something else than the last key frame.
CHANGED = 0.5


@dataclass(frozen=True)
class Survey:
    """The frames of a video.

    Attributes
    ----------
    indices, times : (n_frames,)
        Numbers in the source; seconds from its beginning.
    keys : (n_keys,)
        Places of the key frames among them, ascending; the first and the last frame are always key frames.
    problem : str
        What of the video could not be read.
    """

    indices: np.ndarray
    times: np.ndarray
    keys: np.ndarray
    problem: str


def survey_video(stream: VideoStream) -> Survey:
    """Go through a video once and choose its key frames; a frame leaves 256 bytes in memory."""
    indices, times, thumbnails = [], [], []
    for frame in read_ahead(stream):
        indices.append(frame.index)
        times.append(frame.time)
        thumbnails.append(make_thumbnail(frame.image))
    return Survey(np.array(indices), np.array(times), choose_key_frames(thumbnails), stream.problem)


def choose_key_frames(thumbnails: Sequence[np.ndarray]) -> np.ndarray:
    """Ascending places of key frames: evenly spaced ones, and each frame that is unlike the key frame before it."""
    n_frames = len(thumbnails)
    n_even = min(n_frames, max(LEAST, 1 + int(np.ceil((n_frames - 1) / EVERY))))
    even = set(np.linspace(0, n_frames - 1, n_even).round().astype(int).tolist())
    keys = [0]
    for place in range(1, n_frames):
        if place in even or measure_likeness(thumbnails[place], thumbnails[keys[-1]]) < CHANGED:
            keys.append(place)
    return np.array(keys)
