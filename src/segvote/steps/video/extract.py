"""One video: supervoxels while it is read, features of sampled frames; done once, kept by content."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from segvote.features.base import check_outputs
from segvote.features.motion import MotionPooler
from segvote.features.video_pooling import FramePooler
from segvote.io.arrays import read_if_whole, write_arrays
from segvote.io.images import resize_image
from segvote.io.overlays import write_jpeg
from segvote.io.video.reading import Frame, VideoStream, open_video
from segvote.run.bags import Bag
from segvote.run.run_folder import make_key
from segvote.run.segmented_image import SegmentedImage
from segvote.run.settings import Settings
from segvote.run.video.frames import (
    FrameMaps,
    StoredFrame,
    get_poster_path,
    list_stored_frames,
    read_ahead,
    walk_frames,
)
from segvote.segmentation.clips import stream_slic_clip
from segvote.segmentation.flow import remove_camera
from segvote.segmentation.supervoxel_tally import SupervoxelTally, Tally
from segvote.segmentation.supervoxels import SupervoxelFrame, stream_supervoxels

if TYPE_CHECKING:
    from segvote.steps.extract import BagExtractor

VIDEO_VERSION = 1  # raised when supervoxels or their features are computed another way
# A supervoxel lasts, so a frame may hold more of them than an image has segments.
SUPERVOXELS_IN_SEGMENTS = 2
CLIP_SEGMENTER = "slic"  # the one segmenter of images that also segments clips; all others stream
EXTRACTED_EVERY = 4  # frames: a supervoxel lives for about twenty
POSTER_QUALITY = 95


def make_video_key(bag: Bag, settings: Settings) -> str:
    """Name of a video's supervoxels: its content and all that decides how it is segmented."""
    return make_key(
        version=VIDEO_VERSION,
        video=bag.digest,
        n_segments=settings.n_segments,
        size=settings.size,
        every=settings.every,
        fps=settings.fps,
        **({"segmenter": CLIP_SEGMENTER} if settings.segmenter == CLIP_SEGMENTER else {}),
    )


def open_bag_video(bag: Bag, settings: Settings) -> VideoStream:
    """The frames of a video as the settings sample them."""
    return open_video(bag.path, settings.every, settings.fps or None)


def extract_video(bag_extractor: BagExtractor, bag: Bag) -> SegmentedImage:
    """Supervoxels and features of one video; what is on disk already is not done again."""
    seconds: dict[str, float] = {}
    run, settings = bag_extractor.run, bag_extractor.settings
    key = make_video_key(bag, settings)
    found = read_if_whole(run.segments_path(key))
    if found is None or not get_poster_path(run, key).is_file():
        found = _VideoSegmenter(bag_extractor, bag, key).segment(seconds)
    features_key = make_key(
        version=VIDEO_VERSION, segments=key, features=bag_extractor.extractor.get_key(), state=bag_extractor.state_key
    )
    if read_if_whole(run.features_path(features_key)) is None:
        _write_features(bag_extractor, bag, key, found, features_key, seconds)
    height, width = (int(side) for side in found["shape"])
    segmented = SegmentedImage(bag, key, features_key, height, width, len(found["areas"]), seconds=seconds)
    return replace(segmented, n_frames=len(found["frame_indices"]), warning=str(found["problem"]))


class _VideoSegmenter:
    """Segments one video into supervoxels, in one pass over its frames."""

    def __init__(self, bag_extractor: BagExtractor, bag: Bag, key: str) -> None:
        self.run, self.settings, self.bag, self.key = bag_extractor.run, bag_extractor.settings, bag, key
        self.maps = FrameMaps(self.run, key)
        self.tally, self.motion, self.poster = SupervoxelTally(), MotionPooler(), _Poster()
        self.waiting: list[tuple[int, float, np.ndarray]] = []  # frames that the window still holds back
        self.indices: list[int] = []
        self.times: list[float] = []
        self.shape = (0, 0)

    def segment(self, seconds: dict[str, float]) -> dict[str, np.ndarray]:
        started = time.perf_counter()
        stream = open_bag_video(self.bag, self.settings)
        level = SUPERVOXELS_IN_SEGMENTS * self.settings.n_segments
        for result in self._segment(self._feed(read_ahead(stream)), level):
            self._take(result)
        self.maps.flush()
        write_jpeg(get_poster_path(self.run, self.key), self.poster.image, POSTER_QUALITY)
        arrays = self._collect(self.tally.finish(), stream.problem)
        write_arrays(self.run.segments_path(self.key), compress=True, **arrays)
        seconds["segment"] = time.perf_counter() - started
        return arrays

    def _segment(self, frames: Iterator[np.ndarray], n_in_frame: int) -> Iterator[SupervoxelFrame]:
        if self.settings.segmenter == CLIP_SEGMENTER:
            return stream_slic_clip(frames, n_in_frame)
        return stream_supervoxels(frames, n_in_frame)

    def _feed(self, frames: Iterator[Frame]) -> Iterator[np.ndarray]:
        for frame in frames:
            self.shape = frame.image.shape[:2]  # type: ignore[assignment]
            self.waiting.append((frame.index, frame.time, frame.image))
            yield resize_image(frame.image, self.settings.size)

    def _take(self, result: SupervoxelFrame) -> None:
        index, moment, image = self.waiting.pop(0)
        self.indices.append(index)
        self.times.append(moment)
        self.maps.add(StoredFrame(index, moment, result.labels))
        self.tally.add(result)
        if result.index:
            self.motion.add(remove_camera(result.flow), result.labels)
        self.poster.offer(result.index, image, result.labels)

    def _collect(self, tally: Tally, problem: str) -> dict[str, np.ndarray]:
        """What later steps ask of the geometry; `labels` is the poster's map, so that pages can show a video."""
        n_segments = len(tally.areas)
        parents, altitudes = make_chain(n_segments)
        # An object that leaves the picture touches its border at the end; ground does so for most of its life.
        stays_on_border = 2 * tally.n_border_frames > tally.n_frames
        return {
            "labels": self.poster.labels.astype(np.uint32),
            "parents": parents,
            "altitudes": altitudes,
            "areas": tally.areas,
            "border": np.where(stays_on_border, tally.border, 0).astype(np.float32),
            "edges": tally.edges,
            "shape": np.array(self.shape, np.int64),
            "distinct": self.motion.measure_distinct(n_segments),
            "motion": self.motion.extract(n_segments),
            "first_frames": tally.first_frames,
            "last_frames": tally.last_frames,
            "frame_indices": np.array(self.indices, np.int64),
            "frame_times": np.array(self.times, np.float64),
            "poster": np.array(self.poster.index, np.int64),
            "n_files": np.array(self.maps.n_files, np.int64),
            "problem": np.array(problem),
        }


class _Poster:
    """Keeps one frame from the second half of a video whose length is not known in advance."""

    def __init__(self) -> None:
        self.index = -1
        self.image = self.labels = np.zeros(0)

    def offer(self, index: int, image: np.ndarray, labels: np.ndarray) -> None:
        if index & (index - 1) == 0:  # 0 and the powers of two
            self.index, self.image, self.labels = index, image, labels


def make_chain(n_segments: int) -> tuple[np.ndarray, np.ndarray]:
    """A tree that merges supervoxels one after the other: a video has no hierarchy to choose levels from yet."""
    n_nodes = 2 * n_segments - 1
    parents = np.arange(n_nodes, dtype=np.int32)
    parents[:n_segments] = np.maximum(n_segments, n_segments - 1 + np.arange(n_segments)).clip(0, n_nodes - 1)
    parents[n_segments : n_nodes - 1] += 1
    altitudes = np.zeros(n_nodes, np.float32)
    altitudes[n_segments:] = np.arange(1, n_segments)
    return parents, altitudes


def _write_features(
    bag_extractor: BagExtractor,
    bag: Bag,
    key: str,
    found: dict[str, np.ndarray],
    features_key: str,
    seconds: dict[str, float],
) -> None:
    started = time.perf_counter()
    pooler = FramePooler(bag_extractor.extractor)
    maps = list_stored_frames(bag_extractor.run, key, int(found["n_files"]))
    for number, (image, stored) in enumerate(walk_frames(open_bag_video(bag, bag_extractor.settings), maps)):
        if number % EXTRACTED_EVERY == 0:
            pooler.add(image, stored.labels)
    features = pooler.finish(len(found["areas"]), found["edges"])
    checked = check_outputs(features, bag.name, bag_extractor.settings.features)
    write_arrays(bag_extractor.run.features_path(features_key), features=checked)
    seconds["extract"] = time.perf_counter() - started
