"""A video against truth: the overlap of the space-time volume, and of each frame that has truth."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from segvote.errors import BadInputError
from segvote.evaluation.evaluate_segments import BoxedFrames, BoxedSegments, MaskedSegments, count_segments, fit_mask
from segvote.evaluation.evaluate_truth import TruthReader, find_truth
from segvote.io.images import resize_labels
from segvote.io.masks import read_mask
from segvote.metrics.overlap import measure_iou, split_truth
from segvote.run.run import Run
from segvote.run.video.annotations import get_frame_mask_path
from segvote.run.video.frames import StoredFrame, list_frame_stems, list_stored_frames
from segvote.types import WITH

__all__ = ["VideoResult", "count_video", "find_video_truth", "list_video_truth", "measure_video"]


@dataclass(frozen=True)
class VideoResult:
    """One video."""

    iou: float  # of the volume: all frames with truth together
    frame_ious: np.ndarray  # (n,) of each frame with truth
    segments: MaskedSegments  # the truth counted per supervoxel


def find_video_truth(run: Run, index: int, readers: Mapping[str, TruthReader]) -> dict[str, TruthReader]:
    """Stem of a frame to the reader of its truth, for the frames that have some."""
    bag = run.bags[index]
    stems = list_frame_stems(run.find_source(index), run.read_segments(index)["frame_indices"])
    name = bag.name if run.find_source(index).is_dir() else bag.name.rsplit(".", 1)[0]
    found = {stem: find_truth(readers, f"{name}/{stem}.png") for stem in stems}
    return {stem: reader for stem, reader in found.items() if reader}


def list_video_truth(run: Run, readers: Mapping[str, TruthReader]) -> dict[int, dict[str, TruthReader]]:
    """Number of the bag to the truth of its frames, for every *with* video that has some."""
    videos = [index for index, bag in enumerate(run.bags) if bag.n_frames and bag.bag_label == WITH]
    found = {index: find_video_truth(run, index, readers) for index in videos}
    return {index: frames for index, frames in found.items() if frames}


def measure_video(run: Run, index: int, truth: Mapping[str, TruthReader]) -> VideoResult:
    """Compare the frame masks of a video with truth, one frame in memory at a time.

    Parameters
    ----------
    run, index
        A finished run and the number of the video's bag.
    truth
        Of `find_video_truth`; masks only.
    """
    bag, arrays = run.bags[index], run.read_segments(index)
    stems = list_frame_stems(run.find_source(index), arrays["frame_indices"])
    counts = _Counts(len(arrays["areas"]))
    for stem, stored in zip(stems, list_stored_frames(run.folder, bag.segments, int(arrays["n_files"])), strict=True):
        if stem in truth:
            known = truth[stem]().mask
            if known is None:
                raise BadInputError(f"{bag.name}: videos are measured against masks, the truth of {stem} is boxes")
            counts.add(read_mask(get_frame_mask_path(run.folder, bag.stem, stem)) == 255, known, stored)
    return counts.finish()


def count_video(run: Run, index: int, truth: Mapping[str, TruthReader]) -> MaskedSegments | BoxedFrames:
    """The truth of a video counted per supervoxel: masks, or boxes where those are known."""
    bag, arrays = run.bags[index], run.read_segments(index)
    stems = list_frame_stems(run.find_source(index), arrays["frame_indices"])
    inside, areas = np.zeros((2, len(arrays["areas"])))
    boxed = []
    for stem, stored in zip(stems, list_stored_frames(run.folder, bag.segments, int(arrays["n_files"])), strict=True):
        if stem not in truth:
            continue
        counted = count_segments(stored.labels, truth[stem](), (bag.height, bag.width))
        if isinstance(counted, BoxedSegments):
            boxed.append(counted)
            continue
        n_known = len(counted.areas)
        inside[:n_known] += counted.inside
        areas[:n_known] += counted.areas
    if boxed:
        return BoxedFrames(tuple(boxed), len(areas))
    return MaskedSegments(inside / np.maximum(areas, 1), areas)


class _Counts:
    def __init__(self, n_segments: int) -> None:
        self.inside, self.areas = np.zeros(n_segments), np.zeros(n_segments)
        self.common = self.union = 0
        self.ious: list[float] = []

    def add(self, mask: np.ndarray, truth: np.ndarray, stored: StoredFrame) -> None:
        is_object, is_visible = split_truth(truth)
        mask = fit_mask(mask, truth.shape)  # type: ignore[arg-type]
        self.ious.append(measure_iou(mask, truth))
        self.common += int((mask & is_object).sum())
        self.union += int(((mask & is_visible) | is_object).sum())
        labels = resize_labels(stored.labels, truth.shape)  # type: ignore[arg-type]
        self.inside += np.bincount(labels[is_object], minlength=len(self.inside))
        self.areas += np.bincount(labels[is_visible], minlength=len(self.areas))

    def finish(self) -> VideoResult:
        fractions = self.inside / np.maximum(self.areas, 1)
        volume = self.common / self.union if self.union else 1.0
        return VideoResult(volume, np.array(self.ious), MaskedSegments(fractions, self.areas))
