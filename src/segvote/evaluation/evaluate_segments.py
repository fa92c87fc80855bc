"""Truth counted per segment, of images and of videos: once counted, any decision about the segments is a sum.

A mask of segments overlaps the truth by the areas its segments share with it, so that comparing many voters on the same
segments reads no picture twice. Overlaps are pairs (intersection, union): those of several frames add up to the overlap
of a video. Boxes have no areas to add; their overlap counts as a fraction of one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy  # ndimage is loaded when used

from segvote.errors import BadInputError
from segvote.evaluation.evaluate_truth import Truth, TruthReader, find_truth
from segvote.io.images import resize_labels
from segvote.io.masks import read_mask
from segvote.metrics.overlap import find_box, label_by_truth, measure_box_iou, measure_iou, split_truth
from segvote.run.run import Run
from segvote.run.videos import KeyFrames, list_frame_stems
from segvote.steps.video.draw import carry_frames
from segvote.types import WITH

Overlap = tuple[float, float]  # intersection, union


@dataclass(frozen=True)
class MaskedSegments:
    """Segments of one image whose mask is known."""

    fractions: np.ndarray  # (n_segments,) part of each segment that is object
    areas: np.ndarray  # (n_segments,) visible pixels of each segment, at the truth's size

    @cached_property
    def inside(self) -> np.ndarray:
        """(n_segments,) object pixels."""
        return np.rint(self.fractions * self.areas)

    def measure(self, decisions: np.ndarray) -> Overlap:
        """Overlap of the selected segments with the truth."""
        common = float(self.inside[decisions].sum())
        return common, float(self.areas[decisions].sum() + self.inside.sum() - common)

    def measure_limit(self) -> Overlap:
        """Overlap when every segment is labelled by its majority."""
        return self.measure(self.fractions > 0.5)


@dataclass(frozen=True)
class BoxedFrames:
    """Segments of an image or a video of which boxes are known; overlaps of frames add up."""

    # Label map (h, w) at working size, with numbers of the whole video, and (n, 4) boxes at its scale, of each frame.
    frames: tuple[tuple[np.ndarray, np.ndarray], ...]
    n_segments: int

    @cached_property
    def areas(self) -> np.ndarray:
        """(n_segments,) pixels in the frames with boxes."""
        return np.sum([np.bincount(labels.ravel(), minlength=self.n_segments) for labels, _ in self.frames], axis=0)

    @cached_property
    def fractions(self) -> np.ndarray:
        """(n_segments,) part of each segment that lies in a box: a stand-in for the object."""
        boxed = [labels[_paint_boxes(boxes, labels.shape)] for labels, boxes in self.frames]
        return np.bincount(np.concatenate(boxed), minlength=self.n_segments) / np.maximum(self.areas, 1)

    def measure(self, decisions: np.ndarray) -> Overlap:
        """Best overlaps of the box around the selected region with a true box, out of one for each frame."""
        found = [measure_box_overlap(decisions[labels], boxes) for labels, boxes in self.frames]
        return sum(found), float(len(found))

    def measure_limit(self) -> Overlap:
        """The same for the segments that lie in a box by majority."""
        return self.measure(self.fractions > 0.5)


CountedTruth = MaskedSegments | BoxedFrames


def count_segments(labels: np.ndarray, truth: Truth, shape: tuple[int, int]) -> CountedTruth:
    """Count the truth of one image per segment of a label map (h, w); boxes are in pixels of the image's `shape`."""
    if truth.mask is not None:
        return MaskedSegments(*label_by_truth(labels, truth.mask))
    if truth.boxes is None:
        raise BadInputError("truth must hold a mask or boxes, got neither; check --truth")
    scale = np.array([labels.shape[1] / shape[1], labels.shape[0] / shape[0]] * 2)
    return BoxedFrames(((labels, truth.boxes * scale),), int(labels.max()) + 1)


def measure_box_overlap(mask: np.ndarray, boxes: np.ndarray) -> float:
    """Best overlap of the main box of a mask with one of (n, 4) boxes; 0 without a mask or without boxes."""
    if not len(boxes) or not mask.any():
        return 0.0
    return float(measure_box_iou(find_main_box(mask), boxes).max())


def find_main_box(mask: np.ndarray) -> np.ndarray:
    """(4,) box around the largest connected part of a mask, as Papazoglou and Ferrari (2013) fit theirs."""
    parts, n_parts = scipy.ndimage.label(mask)
    if n_parts == 0:
        return find_box(mask)
    sizes = np.bincount(parts.ravel())
    sizes[0] = 0
    return find_box(parts == np.argmax(sizes))


def measure_ious(overlaps: np.ndarray) -> np.ndarray:
    """(n, 2) intersections and unions to (n,) overlaps; 1 where nothing was to be found and nothing was found."""
    common, union = np.asarray(overlaps, dtype=float).reshape(-1, 2).T
    return np.divide(common, union, out=np.ones_like(common), where=union > 0)


def _paint_boxes(boxes: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    mask = np.zeros(shape, dtype=bool)
    for x0, y0, x1, y1 in np.rint(boxes).astype(int):
        mask[max(y0, 0) : y1, max(x0, 0) : x1] = True
    return mask


def fit_mask(mask: np.ndarray, shape: tuple[int, int]) -> np.ndarray:
    """A mask at the size of its truth."""
    return mask if mask.shape == shape else resize_labels(mask, shape)


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
    keys = KeyFrames.open(run.folder, bag.segments, bag.features)
    frames = zip(list_frame_stems(source, keys.arrays["frame_indices"]), carry_frames(keys, source), strict=True)
    carried = ((stem, one.labels) for stem, one in frames if stem in truth)
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
