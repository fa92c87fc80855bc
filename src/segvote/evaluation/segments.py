"""Truth counted per segment, for images and videos: the overlap of any selection of segments is then a sum.

An overlap is a pair (intersection, union); the overlaps of several frames add up to that of a video. Boxes have no
areas to add: their overlap counts as a fraction of one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy  # ndimage is loaded when used

from segvote.errors import BadInputError
from segvote.evaluation.truth import Truth, TruthReader, find_truth
from segvote.metrics.overlap import find_box, label_by_truth, measure_box_iou
from segvote.pipeline.video.draw import carry_frames
from segvote.run.run import Run
from segvote.run.videos import KeyFrames, list_frame_stems
from segvote.types import WITH

Overlap = tuple[float, float]  # intersection, union


@dataclass(frozen=True)
class MaskedSegments:
    """Segments of an image or a video whose mask is known."""

    fractions: np.ndarray  # (n_segments,) part of each segment that is object
    areas: np.ndarray  # (n_segments,) visible pixels of each segment, at the truth's size

    @cached_property
    def inside(self) -> np.ndarray:
        """(n_segments,) object pixels."""
        return np.rint(self.fractions * self.areas)

    def measure(self, selected: np.ndarray) -> Overlap:
        """Overlap of the selected segments with the truth."""
        common = float(self.inside[selected].sum())
        return common, float(self.areas[selected].sum() + self.inside.sum() - common)


@dataclass(frozen=True)
class BoxedSegments:
    """Segments of an image whose boxes are known."""

    labels: np.ndarray  # (h, w) at working size
    boxes: np.ndarray  # (n, 4) at its scale

    @cached_property
    def areas(self) -> np.ndarray:
        """(n_segments,) pixels."""
        return np.bincount(self.labels.ravel())

    @cached_property
    def fractions(self) -> np.ndarray:
        """(n_segments,) part of each segment that lies in a box."""
        inside = np.zeros(self.labels.shape, dtype=bool)
        for x0, y0, x1, y1 in np.rint(self.boxes).astype(int):
            inside[max(y0, 0) : y1, max(x0, 0) : x1] = True
        return np.bincount(self.labels.ravel(), weights=inside.ravel()) / np.maximum(self.areas, 1)

    def measure(self, selected: np.ndarray) -> Overlap:
        """Best overlap of the box around the selected segments with a true box, out of one."""
        return measure_box_overlap(selected[self.labels], self.boxes), 1.0


CountedTruth = MaskedSegments | BoxedSegments


def measure_limit(counted: CountedTruth) -> Overlap:
    """Overlap when every segment is labelled by its majority: the limit of these segments."""
    return counted.measure(counted.fractions > 0.5)


def measure_ious(overlaps: Sequence[Overlap]) -> np.ndarray:
    """(n,) intersection over union; 1 where nothing was to be found and nothing was found."""
    common, union = np.asarray(overlaps, dtype=float).reshape(-1, 2).T
    return np.divide(common, union, out=np.ones_like(common), where=union > 0)


def count_segments(labels: np.ndarray, truth: Truth, shape: tuple[int, int]) -> CountedTruth:
    """Count the truth of one image per segment of a label map (h, w); boxes are in pixels of the image's `shape`."""
    if truth.mask is not None:
        return MaskedSegments(*label_by_truth(labels, truth.mask))
    assert truth.boxes is not None
    scale = np.array([labels.shape[1] / shape[1], labels.shape[0] / shape[0]] * 2)
    return BoxedSegments(labels, truth.boxes * scale)


def count_image(run: Run, index: int, truth: Truth) -> CountedTruth:
    """The truth of an image of a run, counted per segment."""
    bag = run.all_bags[index]
    return count_segments(run.read_segments(index)["labels"], truth, (bag.height, bag.width))


def count_video(run: Run, index: int, truth: Mapping[str, TruthReader]) -> CountedTruth:
    """The truth of a video by the stems of its frames, counted per segment; segments are carried to all frames."""
    bag, source = run.all_bags[index], run.find_source(index)
    keys = KeyFrames.open(run.folder, bag.segments, bag.features)
    frames = zip(list_frame_stems(source, keys.arrays["frame_indices"]), carry_frames(keys, source), strict=True)
    carried = ((stem, one.labels) for stem, one in frames if stem in truth)
    inside, areas = np.zeros((2, bag.n_segments))
    for stem, labels in carried:
        one = count_segments(labels, truth[stem](), (bag.height, bag.width))
        if isinstance(one, BoxedSegments):
            raise BadInputError(f"{bag.name}: videos are measured against masks, the truth of {stem} is boxes")
        inside[: len(one.areas)] += one.inside  # the last segments may not be in a frame
        areas[: len(one.areas)] += one.areas
    return MaskedSegments(inside / np.maximum(areas, 1), areas)


def find_run_truth(
    run: Run, readers: Mapping[str, TruthReader], n_bags: int | None = None
) -> tuple[dict[int, dict[str, TruthReader]], dict[int, TruthReader]]:
    """The truth of the *with* bags, of the first `n_bags`, by number: of videos by stems of frames, and of images."""
    videos: dict[int, dict[str, TruthReader]] = {}
    images: dict[int, TruthReader] = {}
    for index, bag in enumerate(run.all_bags[:n_bags]):
        if bag.bag_label != WITH:
            continue
        if bag.n_frames:
            if frames := _find_video_truth(run, index, readers):
                videos[index] = frames
        elif reader := find_truth(readers, bag.name):
            images[index] = reader
    if not videos and not images:
        raise BadInputError(
            f"no truth is named like a *with* image (it has {', '.join(list(readers)[:3])} …); "
            "expected the image's name with any extension"
        )
    return videos, images


def _find_video_truth(run: Run, index: int, readers: Mapping[str, TruthReader]) -> dict[str, TruthReader]:
    source, name = run.find_source(index), run.all_bags[index].name
    stems = list_frame_stems(source, run.read_segments(index)["frame_indices"])
    folder = name if source.is_dir() else name.rsplit(".", 1)[0]
    return {stem: reader for stem in stems if (reader := find_truth(readers, f"{folder}/{stem}.png"))}


def measure_box_overlap(mask: np.ndarray, boxes: np.ndarray) -> float:
    """Best overlap of the box around the largest connected part of a mask with one of (n, 4) boxes.

    The largest part, as Papazoglou and Ferrari (2013) fit their boxes; 0 without a mask or without boxes.
    """
    if not len(boxes) or not mask.any():
        return 0.0
    parts = scipy.ndimage.label(mask)[0]
    largest = 1 + np.argmax(np.bincount(parts.ravel())[1:])
    return float(measure_box_iou(find_box(parts == largest), boxes).max())
