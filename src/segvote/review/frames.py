"""Frames of videos for the page: their pictures and label maps, so that a correction can be made on any of them."""

from __future__ import annotations

import threading
from collections import OrderedDict

import numpy as np

from segvote.errors import BadInputError
from segvote.io.images import resize_image
from segvote.io.overlays import encode_jpeg
from segvote.io.video.reading import VideoStream
from segvote.run.run import Run
from segvote.run.videos import read_key_labels
from segvote.steps.video.draw import SegmentedVideo

PICTURE_SIZE, QUALITY = 1280, 85
# A film can only be read from its beginning, and a look at one frame is mostly followed by one at the next.
N_AHEAD = 16
MAX_PICTURES, MAX_MAPS = 400, 16


class Frames:
    """Frames of a run's videos, by the number in their source; safe to use from several threads."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self._reading = threading.Lock()
        self._pictures: OrderedDict[tuple[int, int], bytes] = OrderedDict()
        self._labels: OrderedDict[tuple[int, int], np.ndarray] = OrderedDict()

    def list_numbers(self, bag: int) -> list[int]:
        """Numbers of the frames of a video; none for an image."""
        if not self.run.bags[bag].n_frames:
            return []
        return self.run.read_segments(bag)["frame_indices"].tolist()  # type: ignore[no-any-return]

    def find_poster(self, bag: int) -> int:
        """Number of the frame that stands for a video; -1 for an image."""
        return int(self.run.read_segments(bag)["poster"]) if self.run.bags[bag].n_frames else -1

    def read_labels(self, bag: int, frame: int) -> np.ndarray:
        """(h, w) segments of a frame; of the poster, or of an image, for -1."""
        if frame >= 0:
            self._check(bag, frame)
            return self._carry(bag, frame)
        if frame < -1:
            raise BadInputError(f"expected the number of a frame; got {frame}")
        labels: np.ndarray = self.run.read_segments(bag)["labels"]
        return labels

    def _carry(self, bag: int, frame: int) -> np.ndarray:
        with self._reading:
            if (bag, frame) not in self._labels:
                key, source = self.run.bags[bag].segments, self.run.find_source(bag)
                self._labels[bag, frame] = SegmentedVideo.open(self.run.folder, key, source).read_labels(frame)
            while len(self._labels) > MAX_MAPS:
                self._labels.popitem(last=False)
            return self._labels[bag, frame]

    def find_key(self, bag: int, frame: int, segment: int) -> tuple[int, np.ndarray]:
        """The key frame next to a frame of a video that shows a segment, by its number, and its label map (h, w)."""
        segments, key = self.run.read_segments(bag), self.run.bags[bag].segments
        after = int(np.searchsorted(segments["key_indices"], frame))
        maps = {one: read_key_labels(self.run.folder, key, segments, one) for one in {after, max(after - 1, 0)}}
        number = next(one for one, labels in maps.items() if (labels == segment).any())
        return int(segments["key_indices"][number]), maps[number]

    def _check(self, bag: int, frame: int) -> None:
        numbers = self.list_numbers(bag)
        if frame not in numbers:
            known = f"{numbers[0]} to {numbers[-1]}" if numbers else "none: it is an image"
            raise BadInputError(f"image {bag} has no frame {frame}; it has {known}")

    def get_picture(self, bag: int, frame: int) -> bytes:
        """JPEG of a frame."""
        self._check(bag, frame)
        with self._reading:
            if (bag, frame) not in self._pictures:
                self._read_from(bag, frame)
            self._pictures.move_to_end((bag, frame))
            return self._pictures[bag, frame]

    def _read_from(self, bag: int, frame: int) -> None:
        """Keep the picture of a frame and of the few that follow it."""
        for one in VideoStream(self.run.find_source(bag)):
            if one.index >= frame + N_AHEAD:
                break
            if one.index >= frame:
                self._pictures[bag, one.index] = encode_jpeg(resize_image(one.image, PICTURE_SIZE), QUALITY)
        if (bag, frame) not in self._pictures:
            raise BadInputError(f"frame {frame} of {self.run.bags[bag].name} cannot be read any more; annotate again")
        while len(self._pictures) > MAX_PICTURES:
            self._pictures.popitem(last=False)
