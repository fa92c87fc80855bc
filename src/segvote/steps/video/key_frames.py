"""Key frames of a video, which are segmented and vote like images: evenly spaced, and where the picture changes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from segvote.io.video.reading import VideoStream, make_thumbnail, measure_likeness
from segvote.run.video.frames import read_ahead

EVERY = 8  # frames from one key frame to the next, at most
LEAST = 5  # key frames of a video, where it has as many frames
# Correlation of thumbnails below which a frame shows something else than the last key frame.
CHANGED = 0.5


def survey_video(stream: VideoStream) -> dict[str, np.ndarray]:
    """Go through a video once and choose its key frames; a frame leaves 256 bytes in memory.

    Returns
    -------
    dict
        Numbers in the source of all frames (*frame_indices*), of the key frames (*key_indices*) and of the key frame in
        the middle, which pages show (*poster*); seconds from the beginning (*frame_times*); what could not be read
        (*problem*).
    """
    frames = [(frame.index, frame.time, make_thumbnail(frame.image)) for frame in read_ahead(stream)]
    indices, times, thumbnails = zip(*frames, strict=True)
    keys = np.array(indices)[choose_key_frames(thumbnails)]
    return {
        "frame_indices": np.array(indices),
        "frame_times": np.array(times),
        "key_indices": keys,
        "poster": keys[len(keys) // 2],
        "problem": np.array(stream.problem),
    }


def choose_key_frames(thumbnails: Sequence[np.ndarray]) -> np.ndarray:
    """Ascending places of key frames: evenly spaced ones, and each frame that is unlike the key frame before it.

    The first and the last frame are always key frames.
    """
    n_frames = len(thumbnails)
    n_even = min(n_frames, max(LEAST, 1 + int(np.ceil((n_frames - 1) / EVERY))))
    even = set(np.linspace(0, n_frames - 1, n_even).round().astype(int).tolist())
    keys = [0]
    for place in range(1, n_frames):
        if place in even or measure_likeness(thumbnails[place], thumbnails[keys[-1]]) < CHANGED:
            keys.append(place)
    return np.array(keys)
