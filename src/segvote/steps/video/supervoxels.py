"""Supervoxels as the segments of a video, ``--segmenter supervoxels``: the paper's protocol, for comparison.

A supervoxel is one segment in all key frames that show it: the video votes as one image, with features averaged over
time. All else is as with segments of single frames.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from segvote.features import FeatureExtractor
from segvote.io.arrays import write_arrays
from segvote.io.images import resize_image
from segvote.io.video.reading import VideoStream, read_frames
from segvote.run.bags import Bag
from segvote.run.video.frames import name_key_frame, read_ahead
from segvote.segmentation.colour import convert_to_lab
from segvote.segmentation.geometry import measure_segments
from segvote.segmentation.hierarchy import link_ward
from segvote.segmentation.labels import compress_numbers
from segvote.segmentation.supervoxels import stream_supervoxels
from segvote.types import Segmentation

if TYPE_CHECKING:
    from segvote.steps.extract import BagExtractor

SEGMENTER = "supervoxels"
# A supervoxel lasts, so a frame may show more of them than an image has segments.
SUPERVOXELS_IN_SEGMENTS = 2


def extract_supervoxels(
    extractor: BagExtractor, bag: Bag, key: str, stream: VideoStream, frames: dict[str, np.ndarray]
) -> dict[str, np.ndarray]:
    """Write label maps of the key frames and features of a video; returns its segments without label maps.

    `frames` are those of `segvote.steps.video.key_frames.survey_video`.
    """
    settings, indices = extractor.settings, frames["key_indices"].tolist()
    images, labels = segment_stream(stream, set(indices), SUPERVOXELS_IN_SEGMENTS * settings.n_segments, settings.size)
    for index, one in zip(indices, labels, strict=True):
        write_arrays(extractor.run.segments_path(name_key_frame(key, index)), compress=True, labels=one)
    features = average_features(extractor.extractor, bag, dict(zip(indices, labels, strict=True)))
    write_arrays(extractor.run.features_path(extractor.name_features(key)), features=features)
    lab = convert_to_lab(images)
    shape = next(read_frames(bag.path, indices[:1])).image.shape[:2]
    found = measure_segments(Segmentation(labels, *link_ward(lab, labels)), lab, shape)  # type: ignore[arg-type]
    starts, zeros = np.zeros(len(indices), np.int64), np.zeros(len(found["areas"]), np.int32)
    return {**{name: array for name, array in found.items() if name != "labels"}, "starts": starts, "frames": zeros}


def segment_stream(stream: VideoStream, wanted: set[int], n_in_frame: int, size: int) -> tuple[np.ndarray, np.ndarray]:
    """(n_keys, h, w, 3) key frames at working size and (n_keys, h, w) int32 their supervoxels, numbered from 0."""
    images: list[np.ndarray] = []
    indices: list[int] = []

    def read() -> Iterator[np.ndarray]:
        for frame in read_ahead(stream):
            indices.append(frame.index)
            working = resize_image(frame.image, size)
            if frame.index in wanted:
                images.append(working)
            yield working

    maps = [found.labels for found in stream_supervoxels(read(), n_in_frame) if indices[found.index] in wanted]
    return np.stack(images), compress_numbers(np.stack(maps)).astype(np.int32)


def average_features(extractor: FeatureExtractor, bag: Bag, maps: dict[int, np.ndarray]) -> np.ndarray:
    """(n_supervoxels, n_dims) float32 means over the key frames, by area; `maps` are their label maps (h, w)."""
    n_supervoxels = 1 + max(int(labels.max()) for labels in maps.values())
    sums, areas = np.zeros((n_supervoxels, extractor.n_dims)), np.zeros(n_supervoxels)
    for frame in read_frames(bag.path, maps):
        numbers, local = np.unique(maps[frame.index], return_inverse=True)
        counts = np.bincount(local.ravel())
        features = extractor.extract(frame.image, local.reshape(maps[frame.index].shape).astype(np.int32))
        sums[numbers] += features * counts[:, None]
        areas[numbers] += counts
    return (sums / areas[:, None]).astype(np.float32)
