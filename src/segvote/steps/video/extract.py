"""A video as one bag: its key frames are segmented and their features extracted as those of images, then joined."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from segvote.io.arrays import read_arrays, read_if_whole, write_arrays
from segvote.io.overlays import write_jpeg
from segvote.io.video.reading import open_video, read_frames
from segvote.run.bags import Bag, SegmentedImage
from segvote.run.run_folder import RunFolder
from segvote.run.video.frames import get_poster_path, name_key_frame, read_ahead, read_frame_labels
from segvote.steps.video.key_frames import survey_video
from segvote.steps.video.supervoxels import SEGMENTER, extract_supervoxels

if TYPE_CHECKING:
    from segvote.steps.extract import BagExtractor

VIDEO_VERSION = 3  # raised when key frames are chosen or joined in another way
POSTER_QUALITY = 95
PER_SEGMENT = ("areas", "border", "centres", "colours")
GEOMETRY = (*PER_SEGMENT, "edges", "lengths", "parents", "altitudes", "shape")
FRAMES = ("frame_indices", "frame_times", "key_indices", "poster", "problem")


def extract_video(extractor: BagExtractor, bag: Bag, key: str) -> SegmentedImage:
    """Segments, under the name `key`, and features of one video; key frames in the run folder are not done again."""
    run, settings, seconds = extractor.run, extractor.settings, dict[str, float]()
    stream = open_video(bag.path, settings.every, settings.fps or None)
    frames = read_if_whole(run.segments_path(key), FRAMES) or survey_video(stream)
    if settings.segmenter == SEGMENTER:
        joined = extract_supervoxels(extractor, bag, key, stream, frames)
    else:
        joined = _extract_key_frames(extractor, bag, key, frames["key_indices"].tolist(), seconds)
    poster = next(read_frames(bag.path, [int(frames["poster"])]))
    write_jpeg(get_poster_path(run, key), poster.image, POSTER_QUALITY)
    found = {"labels": read_frame_labels(run, key, -1, {**joined, **frames}), **joined, **frames}
    write_arrays(run.segments_path(key), compress=True, **found)
    return extractor.sum_up(bag, key, found, seconds)


def _extract_key_frames(
    extractor: BagExtractor, bag: Bag, key: str, indices: Sequence[int], seconds: dict[str, float]
) -> dict[str, np.ndarray]:
    """Segments and features of each key frame as of an image; returns all segments, see `join_key_frames`."""
    features_key = extractor.name_features(key)
    for frame in read_ahead(read_frames(bag.path, indices)):
        picture = FramePicture(f"{bag.name}, frame {frame.index}", frame.image)
        segments = extractor.segment(name_key_frame(key, frame.index), picture, seconds)
        extractor.extract(name_key_frame(features_key, frame.index), segments["labels"], picture, seconds)
    names = [name_key_frame("", index) for index in indices]
    _join_features(extractor.run, features_key, names)
    return join_key_frames([read_arrays(extractor.run.segments_path(key + name), GEOMETRY) for name in names])


def is_whole(run: RunFolder, key: str, segments: Mapping[str, np.ndarray]) -> bool:
    """Whether the run folder holds the poster and the key frames of a video whose segments are these."""
    names = [name_key_frame(key, index) for index in segments["key_indices"]]
    return all(path.is_file() for path in (get_poster_path(run, key), *map(run.segments_path, names)))


@dataclass(frozen=True)
class FramePicture:
    """A key frame, which is in memory already, as the picture of an image."""

    name: str
    image: np.ndarray  # (h, w, 3) uint8

    @property
    def shape(self) -> tuple[int, int]:
        return self.image.shape[:2]  # type: ignore[return-value]

    def read(self, size: int) -> np.ndarray:
        """The whole frame, which is large enough for any size."""
        return self.image


def _join_features(run: RunFolder, key: str, names: Sequence[str]) -> None:
    """Write the features of all key frames as one file; their own files are deleted once it is whole."""
    if read_if_whole(run.features_path(key)) is None:
        parts = [read_arrays(run.features_path(key + name))["features"] for name in names]
        write_arrays(run.features_path(key), features=np.concatenate(parts))
    shutil.rmtree(run.features_path(key + names[0]).parent, ignore_errors=True)


def join_key_frames(parts: Sequence[dict[str, np.ndarray]]) -> dict[str, np.ndarray]:
    """Segments of key frames one after the other, numbered over all of them.

    `parts` are as for an image, without label maps; the result has the same arrays, the number of the key frame of each
    segment as `frames`, and the number of the first segment of each key frame as `starts`.
    """
    counts = [len(part["areas"]) for part in parts]
    starts = np.concatenate([[0], np.cumsum(counts)[:-1]])
    joined = {name: np.concatenate([part[name] for part in parts]) for name in PER_SEGMENT}
    parents, altitudes = join_trees([(part["parents"], part["altitudes"]) for part in parts])
    return {
        **joined,
        "edges": np.concatenate([part["edges"] + start for part, start in zip(parts, starts, strict=True)]),
        "lengths": np.concatenate([part["lengths"] for part in parts]),
        "parents": parents,
        "altitudes": altitudes,
        "frames": np.repeat(np.arange(len(parts), dtype=np.int32), counts),
        "starts": starts,
        "shape": parts[0]["shape"],
    }


def join_trees(trees: Sequence[tuple[np.ndarray, np.ndarray]]) -> tuple[np.ndarray, np.ndarray]:
    """One tree over the segments of several: parents and altitudes as in `segvote.types.Segmentation`.

    The trees keep their merges; then they merge one after the other, at the height of the highest of them.
    """
    sizes = [(len(parents) + 1) // 2 for parents, _ in trees]
    n_segments, n_nodes = sum(sizes), 2 * sum(sizes) - 1
    parents, altitudes = np.arange(n_nodes, dtype=np.int32), np.zeros(n_nodes, np.float32)
    leaf, inner, roots = 0, n_segments, []
    for size, (own_parents, own_altitudes) in zip(sizes, trees, strict=True):
        numbers = np.concatenate([leaf + np.arange(size), inner + np.arange(size - 1)])
        parents[numbers], altitudes[numbers] = numbers[own_parents], own_altitudes
        roots.append(numbers[-1])
        leaf, inner = leaf + size, inner + size - 1
    top = inner + np.arange(len(trees) - 1)
    parents[roots[:2]] = top[:1] if len(top) else roots[:1]
    parents[roots[2:]], parents[top[:-1]] = top[1:], top[1:]
    altitudes[top] = altitudes.max()
    return parents, altitudes
