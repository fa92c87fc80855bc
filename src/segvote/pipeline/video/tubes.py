"""Supervoxels of videos, ``--segmenter supervoxels``: slices vote, tubes decide.

A *tube* is a supervoxel, a *slice* the part of it in one key frame. Slices are the segments of key frames and vote like
segments of images, with the geometry of their frame: contact with the border and adjacency summed over frames say
nothing. A tube is object if the mean over its slices of (score - threshold of the frame), by area, is above 0.

The run folder holds the tubes of every frame, one file each, and the numbers of the tubes in the files of key frames.
Frames have the heat of their tubes, so that no optical flow is needed between key frames.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from segvote.inputs.bags import Bag
from segvote.io.arrays import read_arrays, write_arrays
from segvote.io.images import resize_image
from segvote.io.video.reading import read_ahead, read_frames
from segvote.method.table import SegmentTable
from segvote.numerics.pixels import convert_to_lab
from segvote.run.run_folder import RunFolder
from segvote.run.videos import KeyFrames, name_key_frame, name_tubes
from segvote.segmentation.hierarchy import link_ward
from segvote.segmentation.labels import measure_segments
from segvote.segmentation.supervoxels import choose_level, stream_supervoxels
from segvote.selection import Selection, apply_labels
from segvote.types import Segmentation

if TYPE_CHECKING:
    from segvote.pipeline.extract import BagExtractor

SUPERVOXELS = "supervoxels"  # name of the segmenter
# A tube may leave a frame and come back in pieces: a frame may show more of them than an image has segments.
TUBES_IN_SEGMENTS = 2


# Segmenting -----------------------------------------------------------------------------------------------------------


def segment_tubes(extractor: BagExtractor, bag: Bag, key: str, frames: Mapping[str, np.ndarray]) -> None:
    """Write the tubes of all frames of a video, and the slices of its key frames as segments; one window in memory."""
    run, settings, keys = extractor.run, extractor.settings, set(frames["key_indices"].tolist())
    indices = frames["frame_indices"].tolist()
    if _is_segmented(run, key, indices, sorted(keys)):
        return
    reader, shape, level = _FrameReader(bag.path, indices, settings.size), (0, 0), -1
    for index, (image, levels) in zip(indices, stream_supervoxels(reader.read()), strict=True):
        level = choose_level(levels, TUBES_IN_SEGMENTS * settings.n_segments) if level < 0 else level
        shape = reader.shape
        write_arrays(run.segments_path(name_tubes(key, index)), compress=True, labels=levels[level])
        if index in keys:
            write_arrays(run.segments_path(name_key_frame(key, index)), True, **cut_slices(image, levels[level], shape))


def _is_segmented(run: RunFolder, key: str, indices: Sequence[int], keys: Sequence[int]) -> bool:
    names = [*(name_tubes(key, index) for index in indices), *(name_key_frame(key, index) for index in keys)]
    return all(run.segments_path(name).is_file() for name in names)


@dataclass
class _FrameReader:
    """Frames of a video at working size, and the size of the video."""

    path: Path
    indices: Sequence[int]
    size: int
    shape: tuple[int, int] = (0, 0)

    def read(self) -> Iterator[np.ndarray]:
        for frame in read_ahead(read_frames(self.path, self.indices)):
            self.shape = frame.image.shape[:2]
            yield resize_image(frame.image, self.size)


def cut_slices(image: np.ndarray, tubes: np.ndarray, shape: tuple[int, int]) -> dict[str, np.ndarray]:
    """Segments of a key frame (h, w, 3): its slices, with their `tubes` (n,), by the tube of every pixel (h, w)."""
    numbers, labels = np.unique(tubes, return_inverse=True)
    labels, lab = labels.reshape(tubes.shape).astype(np.int32), convert_to_lab(image)
    measures = measure_segments(Segmentation(labels, *link_ward(lab, labels)), lab, shape)
    return {**measures, "tubes": numbers.astype(np.int32)}


# Deciding -------------------------------------------------------------------------------------------------------------


def number_tubes(run: RunFolder, bags: Sequence[Bag]) -> np.ndarray | None:
    """(n_segments,) number of each segment's tube over all bags, -1 for segments of images; None without tubes."""
    if not any(bag.n_frames for bag in bags):
        return None
    parts, n_given = [], 0
    for bag in bags:
        own = read_arrays(run.segments_path(bag.segments_key), ("tubes",)).get("tubes") if bag.n_frames else None
        parts.append(np.full(bag.n_segments, -1) if own is None else np.unique(own, return_inverse=True)[1] + n_given)
        n_given = max(n_given, int(parts[-1].max(initial=-1)) + 1)
    numbers = np.concatenate(parts)
    return numbers if n_given else None


def decide_tubes(table: SegmentTable, selection: Selection, tubes: np.ndarray) -> Selection:
    """Give the slices of each tube one score above the threshold of their frame, and one decision.

    `tubes` (n_segments,) are numbers, -1 where a segment is none. The score is the mean over the slices, by area. User
    labels hold in all slices of a tube, unless a tube has both kinds. A video that had a selection keeps the tube with
    the highest score.
    """
    known = np.flatnonzero(tubes >= 0)
    own, areas, bags = tubes[known], table.areas[known], table.bags[known]
    base = selection.thresholds[table.images[known]]
    means = average_tubes(selection.scores[known] - base, areas, own)
    scores, selected, labels = selection.scores.copy(), selection.selected.copy(), selection.user_labels.copy()
    scores[known] = means + base
    labels[known] = _share_labels(labels[known], own)
    best = np.full(len(table.bag_labels), -np.inf)
    np.maximum.at(best, bags, means)
    above = (means > 0) | (means == best[bags])
    had_any = np.bincount(table.bags, weights=selection.selected)[bags] > 0
    selected[known] = apply_labels(above & had_any, labels[known])
    return replace(selection, scores=scores, selected=selected, user_labels=labels)


def average_tubes(values: np.ndarray, areas: np.ndarray, tubes: np.ndarray) -> np.ndarray:
    """(n_segments,) mean by area over the slices of each one's tube, by its number."""
    sums, totals = (np.bincount(tubes, weights=one) for one in (areas * values, areas))
    return sums[tubes] / totals[tubes]


def _share_labels(labels: np.ndarray, tubes: np.ndarray) -> np.ndarray:
    """(n,) user labels of slices, where a slice has none that of its tube."""
    counts = [np.bincount(tubes[labels == kind], minlength=int(tubes.max(initial=-1)) + 1) > 0 for kind in (0, 1)]
    shared = np.where(counts[1], 1, 0)
    shared[counts[0] == counts[1]] = -1  # none, or both kinds
    return np.where(labels >= 0, labels, shared[tubes]).astype(labels.dtype)


# Reading --------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class TubeMaps:
    """Segments of all frames of a video by their tubes."""

    keys: KeyFrames
    tubes: np.ndarray  # (n,) tube of each slice of a key frame, ascending
    segments: np.ndarray  # (n,) segment of the video of each slice
    places: np.ndarray  # (n,) number of its key frame in the source

    @classmethod
    def open(cls, keys: KeyFrames) -> TubeMaps:
        parts = []
        for number, index in enumerate(keys.arrays["key_indices"].tolist()):
            own = read_arrays(keys.run.segments_path(name_key_frame(keys.key, index)), ("tubes",))["tubes"]
            segments = keys.numbers[keys.arrays["starts"][number] + np.arange(len(own))]
            parts.append((own, segments, np.full(len(own), index)))
        tubes, segments, places = (np.concatenate(part) for part in zip(*parts, strict=True))
        # A key frame that does not vote has the segments of others: they serve tubes that no voting one shows.
        votes = np.isin(places, keys.arrays["key_indices"][np.unique(keys.arrays["frames"])])
        shown = np.isin(tubes, tubes[votes])
        order = np.flatnonzero(votes | ~shown)
        order = order[np.argsort(tubes[order], kind="stable")]
        return cls(keys, tubes[order], segments[order], places[order])

    def read_labels(self, frame: int) -> np.ndarray:
        """(h, w) int32 segments of a frame by its number in the source: of each tube the slice nearest in time.

        A tube that no key frame shows has the segments of the nearest key frame, pixel by pixel.
        """
        path = self.keys.run.segments_path(name_tubes(self.keys.key, frame))
        numbers, local = np.unique(read_arrays(path, ("labels",))["labels"], return_inverse=True)
        slices = self._find_slices(numbers, frame)[local.reshape(-1)].reshape(local.shape)
        if (slices < 0).any():
            slices = np.where(slices < 0, self.keys.read_labels(self.keys.find_nearest(frame)), slices)
        return slices.astype(np.int32)

    def _find_slices(self, numbers: np.ndarray, frame: int) -> np.ndarray:
        """(n,) segment of each tube, that of the slice nearest in time; -1 without a slice."""
        order = np.lexsort((np.abs(self.places - frame), self.tubes))
        tubes = self.tubes[order]
        first = np.searchsorted(tubes, numbers).clip(0, len(tubes) - 1)
        return np.where(tubes[first] == numbers, self.segments[order][first], -1)
