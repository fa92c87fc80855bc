"""A video against truth: the overlap of the space-time volume, and of each frame that has truth."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from segvote.errors import BadInputError
from segvote.evaluation.evaluate_segments import BoxedFrames, CountedTruth, MaskedSegments, count_segments, fit_mask
from segvote.evaluation.evaluate_truth import TruthReader, find_truth
from segvote.io.masks import read_mask
from segvote.metrics.overlap import measure_iou, split_truth
from segvote.run.run import Run
from segvote.run.videos import list_frame_stems
from segvote.steps.video.draw import SegmentedVideo
from segvote.types import WITH


@dataclass(frozen=True)
class VideoResult:
    """One video."""

    iou: float  # of the volume: all frames with truth together
    frame_ious: np.ndarray  # (n,) of each frame with truth
    segments: CountedTruth  # the truth counted per segment of the key frames


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
    """Compare the frame masks of a video with the masks of `find_video_truth`, one frame in memory at a time."""
    bag = run.bags[index]
    ious, common, union = [], 0, 0
    for stem, reader in truth.items():
        known = reader()
        if known.mask is None:
            raise BadInputError(f"{bag.name}: videos are measured against masks, the truth of {stem} is boxes")
        mask = fit_mask(read_mask(run.folder.mask_path(f"{bag.stem}/{stem}")) == 255, known.mask.shape)  # type: ignore[arg-type]
        is_object, is_visible = split_truth(known.mask)
        ious.append(measure_iou(mask, known.mask))
        common += int((mask & is_object).sum())
        union += int(((mask & is_visible) | is_object).sum())
    return VideoResult(common / union if union else 1.0, np.array(ious), count_video(run, index, truth))


def count_video(run: Run, index: int, truth: Mapping[str, TruthReader]) -> CountedTruth:
    """The truth of a video, masks or boxes, counted per segment; segments are carried to all frames with truth."""
    bag, source = run.bags[index], run.find_source(index)
    video = SegmentedVideo.open(run.folder, bag.segments, source)
    stems = list_frame_stems(source, video.segments["frame_indices"])
    carried = ((stem, one.labels) for stem, one in zip(stems, video.carry(), strict=True) if stem in truth)
    size = (bag.height, bag.width)
    return _join_frames([count_segments(labels, truth[stem](), size) for stem, labels in carried], bag.n_segments)


def _join_frames(counted: Sequence[CountedTruth], n_segments: int) -> CountedTruth:
    boxed = [frame for one in counted if isinstance(one, BoxedFrames) for frame in one.frames]
    if boxed:
        return BoxedFrames(tuple(boxed), n_segments)
    inside, areas = np.zeros((2, n_segments))
    for one in counted:
        assert isinstance(one, MaskedSegments)
        inside[: len(one.areas)] += one.inside  # the last segments may not be in a frame
        areas[: len(one.areas)] += one.areas
    return MaskedSegments(inside / np.maximum(areas, 1), areas)
