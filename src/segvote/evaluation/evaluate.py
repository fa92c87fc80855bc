"""Masks of a run against ground truth, and beside each figure the limit that its segments set."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from segvote.evaluation.segments import (
    BoxedSegments,
    CountedTruth,
    count_image,
    count_video,
    find_run_truth,
    measure_box_overlap,
    measure_ious,
    measure_limit,
)
from segvote.evaluation.truth import TruthReader, list_truth
from segvote.io.images import resize_labels
from segvote.io.masks import read_mask
from segvote.metrics.bootstrap import bootstrap_mean
from segvote.metrics.boundary import PixelAgreement, has_outline, measure_boundary_f, measure_pixel_agreement
from segvote.metrics.detection import (
    Detections,
    match_detections,
    measure_count_error,
    measure_instance_ap,
    measure_mean_ap,
)
from segvote.metrics.instances import InstanceCounts, match_instances, sum_instances
from segvote.metrics.overlap import IMAGE_THRESHOLD, VIDEO_THRESHOLD, measure_corloc, measure_iou, split_truth
from segvote.metrics.ranking import average_precision, precision_recall
from segvote.pipeline.extent import list_selections
from segvote.pipeline.objects import Divisions, read_divisions, score_objects
from segvote.pipeline.strokes import label_instances
from segvote.progress import Progress, count_along, ignore_progress
from segvote.run.run import Run

N_CURVE = 200  # points of a stored precision-recall curve


@dataclass(frozen=True)
class ImageResult:
    """One image, or one video, whose `iou` is that of its volume.

    `boundary_f`, `pixels` and `instances` are None for videos and where the truth is boxes; `boundary_f` also where the
    truth leaves the outline open.
    """

    name: str
    iou: float
    limit: float  # the best IoU that its segments allow
    boundary_f: float | None = None
    frame_iou: float | None = None  # of a video: the mean over its frames
    instances: InstanceCounts | None = None
    pixels: PixelAgreement | None = None  # precision and recall within two pixels
    detections: Detections | None = None  # the objects as a detector is judged; None as `instances`


@dataclass(frozen=True)
class Ranking:
    """How well scores put object before background."""

    segment_ap: float = 0.0  # average precision; a segment counts whole, by its majority
    pixel_ap: float = 0.0  # the same with each pixel for itself
    recall: list[float] = field(default_factory=list)  # of the pixels: a curve at even steps of recall
    precision: list[float] = field(default_factory=list)


@dataclass(frozen=True)
class ExtentResult:
    """Figures of one extent: of the masks for the `chosen` one of the run, otherwise by whole segments."""

    extent: int
    corloc: float
    miou: float
    chosen: bool


@dataclass(frozen=True)
class Evaluation:
    """Figures of a run over all *with* images that have truth."""

    images: list[ImageResult]
    ranking: Ranking  # of all their segments together
    threshold: float = IMAGE_THRESHOLD  # overlap above which an image counts as found
    criterion: str = "mask"  # or "box"
    extents: list[ExtentResult] = field(default_factory=list)  # empty for runs with videos

    @property
    def ious(self) -> np.ndarray:
        """(n_images,) overlaps of the masks with the truth."""
        return np.array([image.iou for image in self.images])

    @property
    def limits(self) -> np.ndarray:
        """(n_images,) the best overlaps that the segments allow."""
        return np.array([image.limit for image in self.images])

    @property
    def instances(self) -> InstanceCounts | None:
        """Ranking over all images together; None where no truth is a mask."""
        known = [image.instances for image in self.images if image.instances is not None]
        return sum_instances(known) if known else None

    def to_dict(self) -> dict[str, Any]:
        """The figures by name; `corloc` is the paper's average precision."""
        corloc, miou = bootstrap_mean(self.ious > self.threshold), bootstrap_mean(self.ious)
        pixels = [image.pixels for image in self.images if image.pixels is not None]
        return {
            "corloc": corloc.mean,
            "corloc_low": corloc.low,
            "corloc_high": corloc.high,
            "miou": miou.mean,
            "miou_low": miou.low,
            "miou_high": miou.high,
            "segment_ap": self.ranking.segment_ap,
            "pixel_ap": self.ranking.pixel_ap,
            "boundary_f": _average(image.boundary_f for image in self.images),
            **{f"{name}_2px": _average(getattr(one, name) for one in pixels) for name in ("precision", "recall", "f")},
            "limit_corloc": measure_corloc(self.limits, self.threshold),
            "limit_miou": float(self.limits.mean()),
            "n_images": len(self.images),
            "threshold": self.threshold,
            "criterion": self.criterion,
            **self._measure_instances(),
            **self._measure_videos(),
            "extents": [asdict(extent) for extent in self.extents],
        }

    def _measure_instances(self) -> dict[str, Any]:
        """Single objects found; nothing where no truth is a mask."""
        counts = self.instances
        if counts is None:
            return {}
        return {
            "instance_recall": counts.recall,
            "instance_precision": counts.precision,
            "n_instances": counts.n_true,
            "n_marked_instances": counts.n_marked,
            **self._measure_detections(),
        }

    def _measure_detections(self) -> dict[str, Any]:
        """Single objects as a detector is judged."""
        detections = [image.detections for image in self.images if image.detections is not None]
        return {
            "instance_ap50": measure_instance_ap(detections),
            "instance_ap": measure_mean_ap(detections),
            "count_error": measure_count_error(detections),
            "box_iou": _average(one.box_iou for one in detections),
        }

    def _measure_videos(self) -> dict[str, Any]:
        """Videos by the paper's criterion, and their frames; nothing where there are none."""
        videos = [image for image in self.images if image.frame_iou is not None]
        if not videos:
            return {}
        return {
            "n_videos": len(videos),
            "video_corloc": measure_corloc([video.iou for video in videos], VIDEO_THRESHOLD),
            "frame_miou": float(np.mean([video.frame_iou for video in videos])),
        }

    def list_rows(self) -> list[dict[str, Any]]:
        """One row per image: name, iou, limit, boundary_f, f_2px, frame_iou, found, n_true, n_marked, n_matched."""
        rows = []
        for image in self.images:
            row = asdict(image)
            del row["pixels"], row["detections"]
            instances = row.pop("instances") or dict.fromkeys(("n_true", "n_marked", "n_matched"))
            row["f_2px"] = None if image.pixels is None else image.pixels.f
            rows.append({**row, "found": int(image.iou > self.threshold), **instances})
        return rows


def _average(figures: Iterable[float | None]) -> float | None:
    known = [figure for figure in figures if figure is not None]
    return float(np.mean(known)) if known else None


def evaluate_run(
    run: Run,
    truth: Path | str,
    label: str | None = None,
    threshold: float = IMAGE_THRESHOLD,
    progress: Progress = ignore_progress,
) -> Evaluation:
    """Masks of a run against truth; see `segvote.evaluate`."""
    videos, images = find_run_truth(run, list_truth(truth, label))
    measures = {index: partial(_measure_video, run, index, frames) for index, frames in videos.items()}
    divisions = read_divisions(run)
    measures |= {index: partial(_measure_image, run, index, read, divisions) for index, read in images.items()}
    results, counted = [], {}
    for index, measure in count_along(list(measures.items()), "evaluate", len(measures), progress):
        result, counted[index] = measure()
        results.append(result)
    criterion = "box" if any(isinstance(one, BoxedSegments) for one in counted.values()) else "mask"
    scores = [run.read_scores(index) for index in counted]
    ranking = rank_segments(scores, list(counted.values()))
    ious = np.array([result.iou for result in results])
    return Evaluation(results, ranking, threshold, criterion, measure_extents(run, counted, threshold, ious))


def measure_extents(
    run: Run, counted: Mapping[int, CountedTruth], threshold: float, chosen_ious: np.ndarray
) -> list[ExtentResult]:
    """CorLoc and mean IoU at every extent; nothing for runs with videos, without extents, or on a sample.

    Those of the run's own extent are by `chosen_ious` of its masks, the others by whole segments. `counted` is the
    truth by the number of its image, counted per segment.
    """
    results = []
    for extent, selected in enumerate([] if run.record.predicted else list_selections(run), start=1):
        ious = measure_ious([one.measure(selected[run.get_slice(index)]) for index, one in counted.items()])
        is_chosen = extent == run.extent
        ious = chosen_ious if is_chosen else ious
        results.append(ExtentResult(extent, measure_corloc(ious, threshold), float(ious.mean()), is_chosen))
    return results


def rank_segments(scores: Sequence[np.ndarray], counted: Sequence[CountedTruth]) -> Ranking:
    """Average precision and curve over the segments of several images together, by scores (n_segments,) of each."""
    score = np.concatenate(scores)
    fractions = np.concatenate([segments.fractions for segments in counted])
    areas = np.concatenate([segments.areas for segments in counted])
    precision, recall, _ = precision_recall(score, fractions, areas)
    places = np.unique(np.searchsorted(recall, np.linspace(0, recall[-1], N_CURVE)).clip(0, len(recall) - 1))
    return Ranking(
        average_precision(score, fractions > 0.5, areas),
        average_precision(score, fractions, areas),
        recall[places].round(4).tolist(),
        precision[places].round(4).tolist(),
    )


def _measure_image(run: Run, index: int, read: TruthReader, divisions: Divisions) -> tuple[ImageResult, CountedTruth]:
    # The mask on disk, not the decisions: the user may have corrected it pixel by pixel.
    mask, name, truth = run.read_mask(index), run.all_bags[index].name, read()
    counted = count_image(run, index, truth)
    limit = float(measure_ious([measure_limit(counted)])[0])
    if truth.mask is None:
        boxes = truth.boxes if truth.boxes is not None else np.empty((0, 4))
        return ImageResult(name, measure_box_overlap(mask, boxes), limit), counted
    instances = label_instances(mask, divisions.get((name, run.settings.label), ()), run.drawing.objects)
    scores = score_objects(run, index, instances) - run.all_bags[index].threshold
    mask, instances = (resize_labels(one, truth.mask.shape) for one in (mask, instances))
    result = ImageResult(
        name,
        measure_iou(mask, truth.mask),
        limit,
        measure_boundary_f(mask, truth.mask) if has_outline(truth.mask) else None,
        instances=match_instances(mask, truth.mask, instances=instances),
        pixels=measure_pixel_agreement(mask, truth.mask),
        detections=match_detections(mask, truth.mask, instances, scores),
    )
    return result, counted


def _measure_video(run: Run, index: int, frames: Mapping[str, TruthReader]) -> tuple[ImageResult, CountedTruth]:
    """Compare the frame masks of a video with masks by the stems of their frames, one frame in memory at a time."""
    bag, ious, common, union = run.all_bags[index], [], 0, 0
    counted = count_video(run, index, frames)  # which refuses boxes
    for stem, read in frames.items():
        truth = read().mask
        assert truth is not None
        mask = read_mask(run.folder.mask_path(f"{bag.stem}/{stem}")) == 255
        mask = resize_labels(mask, truth.shape)
        is_object, is_visible = split_truth(truth)
        ious.append(measure_iou(mask, truth))
        common += int((mask & is_object).sum())
        union += int(((mask & is_visible) | is_object).sum())
    limit = float(measure_ious([measure_limit(counted)])[0])
    volume = common / union if union else 1.0
    return ImageResult(bag.name, volume, limit, frame_iou=float(np.mean(ious))), counted
