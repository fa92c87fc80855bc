"""Pictures and label maps of images and of frames for the page: reduced, encoded and cached."""

from __future__ import annotations

import threading
from functools import lru_cache

import numpy as np

from segvote.errors import BadInputError
from segvote.io.images import resize_image, resize_labels
from segvote.io.overlays import blend_mask, encode_jpeg
from segvote.io.video.reading import VideoStream
from segvote.pipeline.video.draw import read_frame_labels
from segvote.report.crops import CROP_SOURCE_SIZE, check_segment, draw_crop
from segvote.report.thumbnails import outline_segments
from segvote.run.run import Run
from segvote.run.videos import KeyFrames
from segvote.segmentation.hierarchy import cut_tree

IMAGE_SIZE, THUMB_SIZE = 1600, 240
# How many times fewer regions each level of the tree has than the segments, the coarsest first.
TREE_LEVELS = (14, 7, 4, 2, 1)
# Sizes of the caches: decoded images; encoded pictures, about 64 MB; label maps, which browsers keep; crops.
N_READ, N_ENCODED, N_MAPS, N_CROPS = 4, 128, 16, 2048


def list_levels(parents: np.ndarray, altitudes: np.ndarray) -> np.ndarray:
    """(n_levels, n) the region of each segment at every level of its tree, the coarsest first."""
    n_segments = (len(parents) + 1) // 2
    levels = [cut_tree(parents, altitudes, max(2, round(n_segments / fewer))) for fewer in TREE_LEVELS[:-1]]
    return np.stack([*levels, np.arange(n_segments)])


def encode_map(labels: np.ndarray, levels: np.ndarray) -> bytes:
    """A label map and the levels of its tree: height, width, n_segments, n_levels as uint32, then uint16 arrays.

    Rows are stored as differences to the row above, modulo 2**16, which compress well. It is no picture, because
    browsers that guard against fingerprinting change pixels that a page reads back.
    """
    if levels.shape[1] > 1 << 16:
        raise BadInputError(f"the page shows at most {1 << 16} segments per image; got {levels.shape[1]}")
    head = np.array([*labels.shape, levels.shape[1], len(levels)], dtype="<u4")
    rows = labels.astype(np.uint16)
    rows[1:] -= labels[:-1].astype(np.uint16)
    return head.tobytes() + rows.astype("<u2").tobytes() + levels.astype("<u2").tobytes()


class Pictures:
    """Encoded pictures of a run, by number; safe to use from several threads."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self._decoding = threading.Lock()
        self._read_kept = lru_cache(N_READ)(lambda bag, size: resize_image(self.run.read_image(bag), size))
        self.get_image = lru_cache(N_ENCODED)(lambda bag: encode_jpeg(self._read(bag, IMAGE_SIZE), 88))
        self.get_thumb = lru_cache(N_ENCODED)(lambda bag: encode_jpeg(self._read(bag, THUMB_SIZE), 80))
        self.get_crop = lru_cache(N_CROPS)(lambda bag, segment: encode_jpeg(self._draw_crop(bag, segment)))
        self.get_map = lru_cache(N_MAPS)(lambda bag: self.encode_labels(bag, self.run.read_segments(bag)["labels"]))

    def encode_labels(self, bag: int, labels: np.ndarray) -> bytes:
        """Label map (h, w) of a frame of a video, and levels."""
        segments = self.run.read_segments(bag)
        return encode_map(labels, list_levels(segments["parents"], segments["altitudes"]))

    def draw_outline(self, bag: int, selected: np.ndarray) -> bytes:
        """JPEG of a small picture with selected segments (n_segments,) bool outlined."""
        picture = self._read(bag, THUMB_SIZE)
        labels = resize_labels(self.run.read_segments(bag)["labels"], picture.shape[:2])
        return encode_jpeg(outline_segments(picture, labels, selected), 80)

    def draw_stored(self, run: Run, number: int) -> bytes:
        """JPEG of a small picture of an image of the run, by its number there, with its mask in the run folder."""
        with self._decoding:
            picture = resize_image(run.read_image(number), THUMB_SIZE)
        mask = resize_labels(run.read_mask(number), picture.shape[:2])
        return encode_jpeg(blend_mask(picture, mask), 80)

    def _draw_crop(self, bag: int, segment: int) -> np.ndarray:
        check_segment(self.run, bag, segment)
        return draw_crop(self.run, bag, segment, self._read(bag, CROP_SOURCE_SIZE))

    def _read(self, bag: int, size: int) -> np.ndarray:
        """The image with a longest side of at most `size`."""
        # One at a time: decoding may take a gigabyte, and a page asks for six pictures at once.
        with self._decoding:
            return self._read_kept(bag, size)


PICTURE_SIZE, QUALITY = 1280, 85
# A film can only be read from its beginning, and the next request is mostly for the next frame.
N_AHEAD = 16
MAX_PICTURES, MAX_MAPS = 400, 16


class Frames:
    """Frames of a run's videos, by the number in their source; safe to use from several threads."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self._reading = threading.Lock()
        self._pictures: dict[tuple[int, int], bytes] = {}
        self._carry_kept = lru_cache(MAX_MAPS)(self._carry)

    def list_numbers(self, bag: int) -> list[int]:
        """Numbers of the frames of a video; none for an image."""
        if not self.run.bags[bag].n_frames:
            return []
        return self.run.read_segments(bag)["frame_indices"].tolist()

    def find_poster(self, bag: int) -> int:
        """Number of the frame that stands for a video; -1 for an image."""
        return int(self.run.read_segments(bag)["poster"]) if self.run.bags[bag].n_frames else -1

    def read_labels(self, bag: int, frame: int) -> np.ndarray:
        """(h, w) segments of a frame; of the poster, or of an image, for -1."""
        if frame >= 0:
            self._check(bag, frame)
            with self._reading:
                return self._carry_kept(bag, frame)
        labels: np.ndarray = self.run.read_segments(bag)["labels"]
        return labels

    def _carry(self, bag: int, frame: int) -> np.ndarray:
        return read_frame_labels(self._open_keys(bag), self.run.find_source(bag), frame)

    def find_key(self, bag: int, frame: int, segment: int) -> tuple[int, np.ndarray]:
        """The key frame next to a frame of a video that shows a segment, by its number, and its label map (h, w)."""
        keys = self._open_keys(bag)
        after = int(np.searchsorted(keys.arrays["key_indices"], frame))
        maps = {one: keys.read_labels(one) for one in {after, max(after - 1, 0)}}
        number = next(one for one, labels in maps.items() if (labels == segment).any())
        return int(keys.arrays["key_indices"][number]), maps[number]

    def _open_keys(self, bag: int) -> KeyFrames:
        record = self.run.bags[bag]
        return KeyFrames.open(self.run.folder, record.segments, record.features)

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
            return self._pictures[bag, frame]

    def _read_from(self, bag: int, frame: int) -> None:
        """Keep the picture of a frame and of the few that follow it."""
        if len(self._pictures) > MAX_PICTURES:
            self._pictures.clear()
        for one in VideoStream(self.run.find_source(bag)):
            if one.index >= frame + N_AHEAD:
                break
            if one.index >= frame:
                self._pictures[bag, one.index] = encode_jpeg(resize_image(one.image, PICTURE_SIZE), QUALITY)
        if (bag, frame) not in self._pictures:
            raise BadInputError(f"frame {frame} of {self.run.bags[bag].name} cannot be read any more; annotate again")
