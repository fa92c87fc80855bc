"""Frames of videos for the page: their pictures and label maps, so that a correction can be made on any of them."""

from __future__ import annotations

import threading
from collections import OrderedDict

import numpy as np

from segvote.errors import BadInputError
from segvote.io.images import resize_image
from segvote.io.overlays import encode_jpeg
from segvote.io.video.reading import open_video
from segvote.run.run import Run
from segvote.run.video.frames import read_frame_labels

PICTURE_SIZE, QUALITY = 1280, 85
# A film can only be read from its beginning: whoever looks at one frame will look at the next ones.
N_AHEAD = 16
MAX_PICTURES = 400


class Frames:
    """Frames of a run's videos, by the number in their source; safe to use from several threads."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self._reading = threading.Lock()
        self._pictures: OrderedDict[tuple[int, int], bytes] = OrderedDict()

    def list_numbers(self, bag: int) -> list[int]:
        """Numbers of the segmented frames of a video; none for an image."""
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
            return read_frame_labels(self.run.folder, self.run.bags[bag].segments, frame)
        if frame < -1:
            raise BadInputError(f"expected the number of a frame; got {frame}")
        labels: np.ndarray = self.run.read_segments(bag)["labels"]
        return labels

    def _check(self, bag: int, frame: int) -> None:
        numbers = self.list_numbers(bag)
        if frame not in numbers:
            known = f"{numbers[0]} to {numbers[-1]}" if numbers else "none: it is an image"
            raise BadInputError(f"image {bag} has no segmented frame {frame}; it has {known}")

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
        for one in open_video(self.run.find_source(bag)):
            if one.index >= frame + N_AHEAD:
                break
            if one.index >= frame:
                self._pictures[bag, one.index] = encode_jpeg(resize_image(one.image, PICTURE_SIZE), QUALITY)
        if (bag, frame) not in self._pictures:
            raise BadInputError(f"frame {frame} of {self.run.bags[bag].name} cannot be read any more; annotate again")
        while len(self._pictures) > MAX_PICTURES:
            self._pictures.popitem(last=False)
