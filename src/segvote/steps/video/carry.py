"""All frames of a video with the segments and the heat of its key frames, carried along the optical flow.

Only the frames from one key frame to the next are in memory.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from segvote.io.arrays import read_arrays
from segvote.io.images import resize_image
from segvote.io.video.reading import Frame, read_frames
from segvote.run.run_folder import RunFolder
from segvote.run.video.frames import read_ahead, read_key_labels
from segvote.segmentation.carrying import Track, blend, is_nearer, track_between

FRAMES = ("frames", "starts", "frame_indices", "key_indices", "poster")


@dataclass(frozen=True)
class CarriedFrame:
    """A frame of a video.

    Attributes
    ----------
    frame
        As it was read.
    working
        (h, w, 3) uint8 at working size.
    labels, heat
        (h, w) segments of the nearer key frame; (h, w) float32 mean of the heat of both key frames it lies between.
    """

    frame: Frame
    working: np.ndarray
    labels: np.ndarray
    heat: np.ndarray


@dataclass(frozen=True)
class SegmentedVideo:
    """A video whose key frames are segmented.

    Attributes
    ----------
    run, key
        Where its segments lie, and under which name.
    path
        The film, or the folder of frames.
    segments
        Which frames there are, and the key frame of each segment, see `segvote.steps.video.extract`.
    """

    run: RunFolder
    key: str
    path: Path
    segments: Mapping[str, np.ndarray]

    @classmethod
    def open(cls, run: RunFolder, key: str, path: Path) -> SegmentedVideo:
        return cls(run, key, path, read_arrays(run.segments_path(key), FRAMES))

    def carry(self, heat: np.ndarray | None = None, within: tuple[int, int] | None = None) -> Iterator[CarriedFrame]:
        """All frames in order, or those from one key frame to another, with heat (n_segments,); None: none."""
        heat = np.zeros(len(self.segments["frames"]), np.float32) if heat is None else heat
        window: list[Frame] = []
        first: CarriedFrame | None = None
        for frame in self._read(within):
            if frame.index not in self.segments["key_indices"]:
                window.append(frame)
                continue
            last = self._open_key(frame, heat)
            if first is not None:
                yield from _carry_between(first, window, last)
            yield last
            window, first = [], last

    def hold(self, heat: np.ndarray) -> Iterator[CarriedFrame]:
        """As `carry`, without any flow: a frame has picture, segments and heat of the last key frame."""
        key: CarriedFrame | None = None
        for frame in self._read():
            if key is None or frame.index in self.segments["key_indices"]:
                key = self._open_key(frame, heat)
            yield replace(key, frame=frame)

    def _read(self, within: tuple[int, int] | None = None) -> Iterator[Frame]:
        indices = self.segments["frame_indices"]
        low, high = (indices[0], indices[-1]) if within is None else within
        return read_ahead(read_frames(self.path, indices[(indices >= low) & (indices <= high)].tolist()))

    def _open_key(self, frame: Frame, heat: np.ndarray) -> CarriedFrame:
        labels = self._read_key(int(np.searchsorted(self.segments["key_indices"], frame.index)))
        return CarriedFrame(frame, resize_image(frame.image, max(labels.shape)), labels, heat[labels])

    def _read_key(self, number: int) -> np.ndarray:
        return read_key_labels(self.run, self.key, self.segments, number)

    def read_labels(self, frame: int) -> np.ndarray:
        """(h, w) segments of one frame by its number in the source, as `carry` gives them."""
        keys = self.segments["key_indices"]
        after = int(np.searchsorted(keys, frame))
        if keys[after] == frame:
            return self._read_key(after)
        within = keys[after - 1], keys[after]
        return next(one.labels for one in self.carry(within=within) if one.frame.index == frame)


def _carry_between(first: CarriedFrame, window: list[Frame], last: CarriedFrame) -> Iterator[CarriedFrame]:
    """The frames of a window between two key frames."""
    images = [resize_image(frame.image, max(first.labels.shape)) for frame in window]
    tracks = track_between([first.working, *images, last.working])
    for number, (frame, image, (earlier, later)) in enumerate(zip(window, images, tracks, strict=True), start=1):
        share = number / (len(window) + 1)
        labels = _choose_labels(earlier, later, first.labels, last.labels, share)
        yield CarriedFrame(frame, image, labels, blend(earlier, later, first.heat, last.heat, share))


def _choose_labels(earlier: Track, later: Track, before: np.ndarray, after: np.ndarray, share: float) -> np.ndarray:
    return earlier.carry(before) if is_nearer(earlier, later, share) else later.carry(after)
