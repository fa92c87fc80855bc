"""How good is a run? Its masks against truth, and beside each figure the limit its segments set."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from segvote.errors import BadInputError
from segvote.io.images import IMAGE_EXTENSIONS, list_images, resize_labels
from segvote.io.masks import read_mask
from segvote.metrics.bootstrap import Interval, bootstrap_mean
from segvote.metrics.limit import label_by_truth, measure_limit
from segvote.metrics.overlap import IMAGE_THRESHOLD, measure_corloc, measure_iou
from segvote.metrics.ranking import average_precision
from segvote.pipeline.progress import Progress, count_along, ignore_progress
from segvote.pipeline.run import Run
from segvote.types import WITH

__all__ = ["Evaluation", "ImageResult", "evaluate"]


@dataclass(frozen=True)
class ImageResult:
    """One image: the overlap of its mask with the truth, and the best its segments could do."""

    name: str
    iou: float
    limit: float


@dataclass(frozen=True)
class Evaluation:
    """Figures of a run over all *with* images that have truth."""

    images: list[ImageResult]
    segment_ap: float

    @property
    def n_images(self) -> int:
        return len(self.images)

    @property
    def ious(self) -> np.ndarray:
        return np.array([image.iou for image in self.images])

    @property
    def limits(self) -> np.ndarray:
        return np.array([image.limit for image in self.images])

    def measure_corloc_interval(self) -> Interval:
        return bootstrap_mean((self.ious > IMAGE_THRESHOLD).astype(float))

    def measure_miou_interval(self) -> Interval:
        return bootstrap_mean(self.ious)

    def to_dict(self) -> dict[str, float | int]:
        return {
            "corloc": measure_corloc(self.ious),
            "miou": float(self.ious.mean()),
            "segment_ap": self.segment_ap,
            "limit_corloc": measure_corloc(self.limits),
            "limit_miou": float(self.limits.mean()),
            "n_images": self.n_images,
        }


def evaluate(run: Run, truth: Path | str, progress: Progress = ignore_progress) -> Evaluation:
    """Compare the masks of a run with a folder of truth masks named like the images.

    Parameters
    ----------
    run
        A finished run.
    truth
        Folder of masks: 255 object, 128 ignore, 0 background.
    """
    masks = _find_masks(run, Path(truth))
    results, scores, fractions, areas = [], [], [], []
    for index, path in count_along(masks, "evaluate", len(masks), progress):
        labels, mask, known = run.read_segments(index)["labels"], run.read_mask(index), read_mask(path)
        if mask.shape != known.shape:
            mask = resize_labels(mask, known.shape)  # type: ignore[arg-type]
        limit = measure_limit(labels, known)
        results.append(ImageResult(run.bags[index].name, measure_iou(mask, known), limit))
        scores.append(run.votes["scores"][run.get_slice(index)])
        fractions.append(label_by_truth(labels, known))
        areas.append(np.bincount(labels.ravel()))
    return Evaluation(results, _measure_ap(scores, fractions, areas))


def _measure_ap(scores: list[np.ndarray], fractions: list[np.ndarray], areas: list[np.ndarray]) -> float:
    """Area-weighted average precision over all segments that truth says something about."""
    score, fraction, area = (np.concatenate(parts) for parts in (scores, fractions, areas))
    known = np.isfinite(fraction)
    return average_precision(score[known], fraction[known] > 0.5, area[known])


def _find_masks(run: Run, truth: Path) -> list[tuple[int, Path]]:
    """(bag number, truth file) of every *with* bag that has truth."""
    if not truth.is_dir():
        raise BadInputError(f"expected a folder of masks at {truth}; check --truth")
    by_stem = {path.relative_to(truth).with_suffix("").as_posix(): path for path in list_images(truth)}
    found = []
    for index, bag in enumerate(run.bags):
        stem = Path(bag.name.removeprefix(f"{bag.tag}/")).with_suffix("").as_posix()
        path = by_stem.get(stem) or by_stem.get(Path(stem).name)
        if bag.tag == WITH and path is not None:
            found.append((index, path))
    if not found:
        extensions = ", ".join(sorted(IMAGE_EXTENSIONS))
        raise BadInputError(
            f"no mask in {truth} is named like a *with* image; expected the image's stem with {extensions}"
        )
    return found
