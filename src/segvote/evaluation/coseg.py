"""Masks of the whole method on a co-segmentation set: P (pixel accuracy) and J (Jaccard index), class by class.

The literature gives a method the images of a class alone; here images without the class are given, too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np

from segvote.datasets import DATASETS
from segvote.datasets.coseg import VOC_CLASSES
from segvote.errors import UnknownNameError
from segvote.evaluation.benchmark import link_class, report_class
from segvote.evaluation.defaults import MAX_ITEMS
from segvote.evaluation.segments import find_run_truth
from segvote.io.images import resize_labels
from segvote.io.masks import IGNORE, OBJECT
from segvote.metrics.overlap import measure_iou
from segvote.pipeline.annotate import annotate_folders
from segvote.pipeline.workers import Resources
from segvote.settings import Settings


@dataclass(frozen=True)
class CosegResult:
    """Figures of one class."""

    name: str
    n_images: int  # with truth
    p: float  # mean over these of the share of pixels that are labelled right
    j: float  # mean over those that show the object of the intersection over union


def is_voc(results: Sequence[CosegResult]) -> bool:
    """Whether the classes are those of the set of the published figures."""
    return {one.name for one in results} == set(VOC_CLASSES)


def measure_coseg(
    path: Path | str,
    out: Path | str,
    settings: Settings | None = None,
    *,
    class_name: str | None = None,
    max_items: int = MAX_ITEMS,
    resources: Resources = Resources(),
) -> list[CosegResult]:
    """Annotate every class of a co-segmentation set, or one, and compare the masks with the truth.

    At most `max_items` images of each kind and class are used. Finished runs in `out` are used again.
    """
    data, results = DATASETS["coseg"](path, class_name), []
    for name in data.classes:
        folder = Path(out) / name
        class_folders = link_class(data, name, folder / "images", 1, max_items)
        if class_folders.n_items:
            steps = replace(resources, progress=partial(report_class, resources.progress, name))
            run = annotate_folders(*class_folders.folders, folder / "run", settings or Settings(), steps)
            pairs = [
                (run.read_mask(index), read().mask)
                for index, read in find_run_truth(run, class_folders.readers)[1].items()
            ]
            results.append(measure_class(name, [(mask, truth) for mask, truth in pairs if truth is not None]))
    if not results:
        raise UnknownNameError(f"no class at {path} has masks; expected CLASS/STEM.png beside CLASS/STEM.jpg")
    return results


def measure_class(name: str, pairs: Sequence[tuple[np.ndarray, np.ndarray]]) -> CosegResult:
    """P and J of pairs of a mask (h, w) bool and its truth (h, w) uint8; ignored pixels are left out."""
    right, overlaps = [], []
    for mask, truth in pairs:
        mask = resize_labels(mask, truth.shape)
        known = truth != IGNORE
        right.append(float((mask == (truth == OBJECT))[known].mean()))
        if (truth == OBJECT).any():
            overlaps.append(measure_iou(mask, truth))
    return CosegResult(name, len(pairs), float(np.mean(right)), float(np.mean(overlaps)) if overlaps else float("nan"))
