"""How good is a run? Its masks against truth, and beside each figure the limit its segments set."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from segvote.errors import BadInputError
from segvote.evaluation.evaluate_segments import (
    BoxedFrames,
    CountedTruth,
    VideoResult,
    count_segments,
    fit_mask,
    list_video_truth,
    measure_box_overlap,
    measure_ious,
    measure_video,
)
from segvote.evaluation.evaluate_truth import Truth, TruthReader, find_truth, list_truth
from segvote.io.progress_bar import choose_progress
from segvote.io.stores import open_folders
from segvote.method.extents import N_LEVELS
from segvote.metrics.bootstrap import bootstrap_mean
from segvote.metrics.boundary import PixelAgreement, has_outline, measure_boundary_f, measure_pixel_agreement
from segvote.metrics.instances import InstanceCounts, match_instances, sum_instances
from segvote.metrics.overlap import IMAGE_THRESHOLD, VIDEO_THRESHOLD, measure_corloc, measure_iou
from segvote.metrics.ranking import average_precision, precision_recall
from segvote.progress import Progress, count_along
from segvote.run.run import Run, open_run
from segvote.run.strokes import label_instances
from segvote.steps.export import Divisions, read_divisions
from segvote.steps.extent import decide_extents
from segvote.types import WITH

N_CURVE = 200  # points of a stored precision-recall curve


@dataclass(frozen=True)
class ImageResult:
    """One image: the overlap of its mask with the truth, the best its segments could do, how well outlines agree, and
    how many single objects were found.

    `boundary_f`, `pixels` (precision and recall within two pixels) and `instances` are None where the truth is boxes,
    and for a video, whose `iou` is that of its volume and whose `frame_iou` is the mean over its frames; `boundary_f`
    also where the truth leaves the outline open.
    """

    name: str
    iou: float
    limit: float
    boundary_f: float | None = None
    frame_iou: float | None = None
    instances: InstanceCounts | None = None
    pixels: PixelAgreement | None = None


@dataclass(frozen=True)
class Curve:
    """Precision over recall, thinned to a few hundred points."""

    recall: list[float] = field(default_factory=list)
    precision: list[float] = field(default_factory=list)


@dataclass(frozen=True)
class Ranking:
    """How well scores put object before background."""

    segment_ap: float  # average precision; a segment counts whole, by its majority
    pixel_ap: float  # the same with each pixel for itself
    curve: Curve  # of the pixels


@dataclass(frozen=True)
class ExtentResult:
    """Figures of one extent by whole segments, which masks are drawn finer than; `chosen` is that of the run."""

    level: int
    corloc: float
    miou: float
    chosen: bool


@dataclass(frozen=True)
class Evaluation:
    """Figures of a run over all *with* images that have truth.

    Attributes
    ----------
    images
        One result per image.
    ranking
        Of all their segments together.
    threshold
        Overlap above which an image counts as found.
    criterion
        ``"mask"`` or ``"box"``.
    extents
        One result per extent, by whole segments; empty for runs with videos.
    """

    images: list[ImageResult]
    ranking: Ranking
    threshold: float = IMAGE_THRESHOLD
    criterion: str = "mask"
    extents: list[ExtentResult] = field(default_factory=list)

    @property
    def n_images(self) -> int:
        return len(self.images)

    @property
    def ious(self) -> np.ndarray:
        return np.array([image.iou for image in self.images])

    @property
    def limits(self) -> np.ndarray:
        return np.array([image.limit for image in self.images])

    @property
    def boundary_f(self) -> float | None:
        known = [image.boundary_f for image in self.images if image.boundary_f is not None]
        return float(np.mean(known)) if known else None

    def _measure_pixels(self) -> dict[str, float | None]:
        """Precision, recall and F of pixels within two pixels, means over the images; None where no truth is a mask."""
        known = [image.pixels for image in self.images if image.pixels is not None]
        return {
            f"pixel_{name}": float(np.mean([getattr(one, name) for one in known])) if known else None
            for name in ("precision", "recall", "f")
        }

    @property
    def instances(self) -> InstanceCounts | None:
        """Of all images together; None where no truth is a mask."""
        known = [image.instances for image in self.images if image.instances is not None]
        return sum_instances(known) if known else None

    def to_dict(self) -> dict[str, Any]:
        """The figures by name; `corloc` is what the paper calls average precision."""
        corloc, miou = bootstrap_mean(self.ious > self.threshold), bootstrap_mean(self.ious)
        return {
            "corloc": corloc.mean,
            "corloc_low": corloc.low,
            "corloc_high": corloc.high,
            "miou": miou.mean,
            "miou_low": miou.low,
            "miou_high": miou.high,
            "segment_ap": self.ranking.segment_ap,
            "pixel_ap": self.ranking.pixel_ap,
            "boundary_f": self.boundary_f,
            **self._measure_pixels(),
            "limit_corloc": measure_corloc(self.limits, self.threshold),
            "limit_miou": float(self.limits.mean()),
            "n_images": self.n_images,
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
        """One row per image: name, iou, limit, boundary_f, pixel_f, frame_iou, found, n_true, n_marked, n_matched."""
        return [_list_row(image, self.threshold) for image in self.images]


def _list_row(image: ImageResult, threshold: float) -> dict[str, Any]:
    row = asdict(image)
    del row["pixels"]
    row["pixel_f"] = None if image.pixels is None else image.pixels.f
    instances = row.pop("instances") or dict.fromkeys(("n_true", "n_marked", "n_matched"))
    return {**row, "found": int(image.iou > threshold), **instances}


def evaluate(
    run: Run | Path | str,
    truth: Path | str,
    *,
    label: str | None = None,
    threshold: float = IMAGE_THRESHOLD,
    progress: Progress | None = None,
) -> Evaluation:
    """Masks of a run against truth: CorLoc, IoU, AP and boundaries.

    Parameters
    ----------
    run : Run, path or str
        A finished run, or its folder.
    truth : path or str
        A folder of masks or boxes, or a file of annotations; ``docs/evaluation.md`` lists the kinds.
    label : str, optional
        The class that counts, where the truth has several.
    threshold : float
        Overlap above which an image counts as found: 0.5 for images in the paper, 0.125 for videos.
    progress : callable, optional
        As for `annotate`.

    Returns
    -------
    Evaluation

    Examples
    --------
    >>> import segvote
    >>> figures = segvote.evaluate("out", "masks").to_dict()
    >>> figures["n_images"], figures["miou"] <= figures["limit_miou"]
    (6, True)
    """
    with (
        choose_progress(progress) as report,
        open_run(run, report) as folder,
        open_folders([truth], progress=report) as ((known,), _),
    ):
        return _evaluate_run(folder if isinstance(folder, Run) else Run(folder), known, label, threshold, report)


def _evaluate_run(run: Run, truth: Path | str, label: str | None, threshold: float, progress: Progress) -> Evaluation:
    videos, readers = find_run_truth(run, list_truth(truth, label), truth)
    results, scores = [], []
    counted: list[CountedTruth] = []
    divisions = read_divisions(run)
    for index, frames in count_along(list(videos.items()), "evaluate videos", len(videos), progress):
        video = measure_video(run, index, frames)
        results.append(_summarise_video(run, index, video))
        counted.append(video.segments)
        scores.append(run.votes["scores"][run.get_slice(index)])
    for index, read in count_along(list(readers.items()), "evaluate", len(readers), progress):
        known = read()
        segments = count_image(run, index, known)
        results.append(_measure_image(run, index, known, segments, divisions))
        counted.append(segments)
        scores.append(run.votes["scores"][run.get_slice(index)])
    criterion = "box" if any(isinstance(segments, BoxedFrames) for segments in counted) else "mask"
    extents = [] if videos else measure_extents(run, dict(zip(readers, counted, strict=True)), threshold)
    return Evaluation(results, rank_segments(scores, counted), threshold, criterion, extents)


def measure_extents(run: Run, counted: Mapping[int, CountedTruth], threshold: float) -> list[ExtentResult]:
    """CorLoc and mean IoU of a run at every extent, by whole segments.

    Parameters
    ----------
    run : Run
        A finished run of images.
    counted : dict of int to CountedTruth
        Number of each image with truth to its truth, counted per segment.
    threshold : float
        Overlap above which an image counts as found.

    Returns
    -------
    list of ExtentResult
        Empty where the run has no nested selections, or has videos.
    """
    if any(bag.n_frames for bag in run.bags) or not run.folder.extents_path.is_file():
        return []
    results = []
    for level in range(1, N_LEVELS + 1):
        selected = decide_extents(run, np.full(len(run), level), None)[2]
        overlaps = [one.measure(selected[run.get_slice(index)]) for index, one in counted.items()]
        ious = measure_ious(np.array(overlaps))
        results.append(ExtentResult(level, measure_corloc(ious, threshold), float(ious.mean()), level == run.extent))
    return results


def _summarise_video(run: Run, index: int, video: VideoResult) -> ImageResult:
    limit = float(measure_ious(np.array([video.segments.measure_limit()]))[0])
    return ImageResult(run.bags[index].name, video.iou, limit, frame_iou=float(video.frame_ious.mean()))


def find_run_truth(
    run: Run, readers: Mapping[str, TruthReader], where: object
) -> tuple[dict[int, dict[str, TruthReader]], dict[int, TruthReader]]:
    """The truth of the *with* bags, by their numbers: frames of videos to readers, and readers of images."""
    videos = list_video_truth(run, readers)
    if videos and not any(not bag.n_frames and find_truth(readers, bag.name) for bag in run.bags):
        return videos, {}
    found = {
        index: reader
        for index, bag in enumerate(run.bags)
        if bag.bag_label == WITH and (reader := find_truth(readers, bag.name))
    }
    if not found:
        raise BadInputError(
            f"no truth in {where} is named like a *with* image (it has {', '.join(list(readers)[:3])} …); "
            "expected the image's name with any extension"
        )
    return videos, found


def rank_segments(scores: Sequence[np.ndarray], counted: Sequence[CountedTruth]) -> Ranking:
    """Average precision and curve over the segments of several images together, by scores (n_segments,) of each."""
    score = np.concatenate(scores)
    fractions = np.concatenate([segments.fractions for segments in counted])
    areas = np.concatenate([segments.areas for segments in counted])
    precision, recall, _ = precision_recall(score, fractions, areas)
    return Ranking(
        average_precision(score, fractions > 0.5, areas),
        average_precision(score, fractions, areas),
        _thin(precision, recall),
    )


def _thin(precision: np.ndarray, recall: np.ndarray) -> Curve:
    """Points at even steps of recall: a curve of 40,000 segments drawn with a few hundred."""
    places = np.unique(np.searchsorted(recall, np.linspace(0, recall[-1], N_CURVE)).clip(0, len(recall) - 1))
    return Curve([round(float(r), 4) for r in recall[places]], [round(float(p), 4) for p in precision[places]])


def count_image(run: Run, index: int, truth: Truth) -> CountedTruth:
    """The truth of an image counted per segment."""
    bag = run.bags[index]
    return count_segments(run.read_segments(index)["labels"], truth, (bag.height, bag.width))


def _measure_image(run: Run, index: int, truth: Truth, segments: CountedTruth, divisions: Divisions) -> ImageResult:
    # The mask on disk, not the decisions: the user may have corrected it pixel by pixel.
    mask, name = run.read_mask(index), run.bags[index].name
    limit = float(measure_ious(np.array([segments.measure_limit()]))[0])
    if truth.mask is None:
        boxes = truth.boxes if truth.boxes is not None else np.empty((0, 4))
        return ImageResult(name, measure_box_overlap(mask, boxes), limit)
    instances = label_instances(mask, divisions.get((name, run.settings.label), ()))
    mask, instances = (fit_mask(one, truth.mask.shape) for one in (mask, instances))  # type: ignore[arg-type]
    return ImageResult(
        name,
        measure_iou(mask, truth.mask),
        limit,
        measure_boundary_f(mask, truth.mask) if has_outline(truth.mask) else None,
        instances=match_instances(mask, truth.mask, instances=instances),
        pixels=measure_pixel_agreement(mask, truth.mask),
    )
