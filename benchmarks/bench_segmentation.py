"""Judge every segmenter against people on BSDS500: covering, Rand index, achievable accuracy, recall; half an hour.

    python benchmarks/bench_segmentation.py BSDS_FOLDER [--quick]

The folder holds ``images``, ``groundTruth`` and, where present, the authors' ``ucm2``; images without a published ucm2
are left out where there are some, so that all rows are about the same pictures. gpb is fitted on one half of the images
and judged on the other, crosswise; ``--quick`` takes ten images and the numbers that come with the package.

Covering and Rand index are taken over 60 cuts of each tree, at the best scale for the whole set (ODS) and for each
image (OIS). Region measures take a table of overlaps, (n_segments, n_truth) pixel counts: a coarser cut of the same
segments only adds rows, so that a whole hierarchy is judged from one table. Times are those of the processor, of one
thread.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import ndimage, sparse
from scipy.io import loadmat
from threadpoolctl import threadpool_limits

from fit_gpb import count_overlaps, fit_model, list_names, read_image, read_truths
from harness import Given, run_parts
from segvote.segmentation import SEGMENTERS
from segvote.segmentation.gpb import segment_gpb, segment_with_model
from segvote.segmentation.hierarchy import cut_tree
from segvote.segmentation.ucm import segment_ucm
from segvote.types import Segmentation

AUTHORS = "authors' ucm2"
N_QUICK = 10  # images
NESTED = ("ward", "gpb", AUTHORS)
COUNTS = (100, 200, 400)
FINEST = 1000  # segments of the tree that is cut at many scales
N_SCALES = 60


def measure_achievable(overlaps: NDArray) -> float:
    """Achievable segmentation accuracy: pixels that are right when each segment takes its best region of the truth."""
    return float(overlaps.max(axis=1).sum() / overlaps.sum())


def measure_covering(overlaps: NDArray) -> float:
    """Covering of the truth (Arbelaez 2011): each region's best intersection over union, weighted by its area."""
    areas, truth_areas = overlaps.sum(axis=1), overlaps.sum(axis=0)
    unions = areas[:, None] + truth_areas[None, :] - overlaps
    best = (overlaps / np.maximum(unions, 1)).max(axis=0)
    return float(best @ truth_areas / truth_areas.sum())


def measure_rand_index(overlaps: NDArray) -> float:
    """Rand index: the fraction of pairs of pixels that both maps join or both keep apart."""
    counts = overlaps.astype(np.float64)
    n_pairs = counts.sum() * (counts.sum() - 1) / 2
    either = (counts.sum(axis=1) ** 2).sum() / 2 + (counts.sum(axis=0) ** 2).sum() / 2
    return float(1 - (either - (counts**2).sum()) / max(n_pairs, 1))


def find_outline(labels: ArrayLike) -> NDArray[np.bool_]:
    """Pixels whose right or lower neighbour has another label: lines one pixel thin.

    Parameters
    ----------
    labels
        (h, w) integers.

    Returns
    -------
    (h, w) bool.
    """
    labels = np.asarray(labels)
    outline = np.zeros(labels.shape, bool)
    outline[:, :-1] |= labels[:, :-1] != labels[:, 1:]
    outline[:-1] |= labels[:-1] != labels[1:]
    return outline


def measure_boundary_recall(outline: NDArray[np.bool_], truth: NDArray[np.bool_], tolerance: float = 2.0) -> float:
    """Fraction of the true boundary pixels with a found one within tolerance pixels; 1 where nothing is to be found."""
    if not truth.any():
        return 1.0
    if not outline.any():
        return 0.0
    return float((ndimage.distance_transform_edt(~outline)[truth] <= tolerance).mean())


Segmenter = Callable[[str, np.ndarray, int], Segmentation]


@dataclass(frozen=True)
class Case:
    """One image and what people drew on it."""

    name: str
    image: np.ndarray
    labels: list[np.ndarray]
    drawn: list[np.ndarray]


@dataclass(frozen=True)
class Quality:
    """What one segmenter got on one image."""

    regions: np.ndarray  # (n_scales, 2) covering, Rand index
    fixed: np.ndarray  # (n_counts, 2) achievable accuracy, boundary recall
    seconds: float


def judge_all(given: Given) -> dict[str, Any]:
    """Segmenter to its figures."""
    if not given.sets:
        return {"skipped": "no BSDS folder"}
    cv2.setNumThreads(1)
    threadpool_limits(1)
    (folder,), figures = given.sets, {}
    cases = read_cases(folder, given.quick)
    for title, make in make_segmenters(folder, given.quick).items():
        segment = make()
        heights = choose_heights(segment, cases)
        figures[title] = summarise([judge_image(segment, case, heights, title in NESTED) for case in cases])
        print(title, figures[title], flush=True)
    return figures


def read_cases(folder: Path, quick: bool) -> list[Case]:
    published = {path.stem for path in (folder / "ucm2").glob("*.mat")}
    names = [name for name in list_names(folder) if not published or name in published]
    names = names[:N_QUICK] if quick else names
    return [Case(name, read_image(folder, name), *read_truths(folder, name)) for name in names]


def make_segmenters(folder: Path, quick: bool) -> dict[str, Callable[[], Segmenter]]:
    """Functions that make each segmenter: gpb has to be fitted first, unless it is quick."""

    def wrap(function: Callable) -> Segmenter:
        return lambda name, image, count: function(image, count)

    makers = {name: lambda name=name: wrap(SEGMENTERS[name]) for name in SEGMENTERS}
    if not quick:
        makers["gpb"] = lambda: make_crosswise(folder)
    if (folder / "ucm2").is_dir():
        makers[AUTHORS] = lambda: (
            lambda name, image, count: segment_ucm(loadmat(folder / "ucm2" / f"{name}.mat")["ucm2"], count)
        )
    return makers


def make_crosswise(folder: Path) -> Segmenter:
    """gpb with, for each image, a model that was fitted on the half that does not hold it."""
    names = list_names(folder)
    fitted = [fit_model(folder, names[half::2]) for half in (0, 1)]
    models = {name: fitted[1 - number % 2] for number, name in enumerate(names)}
    prior = segment_gpb.__kwdefaults__["size_prior"]
    return lambda name, image, count: segment_with_model(image, models[name], count, prior)


def judge_image(segment: Segmenter, case: Case, heights: np.ndarray, is_nested: bool) -> Quality:
    """`is_nested`: fewer segments are a coarser cut of the same tree, so that there is no need to segment again."""
    start = time.process_time()
    segment(case.name, case.image, 200)
    seconds = time.process_time() - start
    tree = segment(case.name, case.image, FINEST)
    maps = [cut_labels(tree, n) if is_nested else segment(case.name, case.image, n).labels for n in COUNTS]
    fixed = np.array([judge_count(labels, case) for labels in maps])
    return Quality(judge_regions(tree, case.labels, heights), fixed, seconds)


def cut_labels(tree: Segmentation, n_segments: int) -> np.ndarray:
    return cut_tree(tree.parents, tree.altitudes, n_segments)[tree.labels]


def judge_count(labels: np.ndarray, case: Case) -> tuple[float, float]:
    outline = find_outline(labels)
    accuracy = np.mean([measure_achievable(count_overlaps(labels, truth)) for truth in case.labels])
    return float(accuracy), float(np.mean([measure_boundary_recall(outline, truth) for truth in case.drawn]))


def judge_regions(tree: Segmentation, labels: list[np.ndarray], heights: np.ndarray) -> np.ndarray:
    tables = [count_overlaps(tree.labels, truth) for truth in labels]
    measures = (measure_covering, measure_rand_index)
    rows = []
    for regions in cut_at_heights(tree, heights):
        sums = sparse.csr_matrix((np.ones(len(regions), np.int64), (regions, np.arange(len(regions)))))
        rows.append([np.mean([measure(sums @ table) for table in tables]) for measure in measures])
    return np.array(rows)


def cut_at_heights(tree: Segmentation, heights: np.ndarray) -> list[np.ndarray]:
    """Regions left when everything at or below each height is merged."""
    inner = tree.altitudes[tree.n_segments :]
    return [cut_tree(tree.parents, tree.altitudes, 1 + int((inner > height).sum())) for height in heights]


def choose_heights(segment: Segmenter, cases: list[Case]) -> np.ndarray:
    """Scales spread over the altitudes at which trees of some images have 2 to 200 regions."""
    tops = [np.sort(segment(case.name, case.image, FINEST).altitudes)[-200:] for case in cases[:10]]
    return np.quantile(np.concatenate(tops), np.linspace(0, 0.999, N_SCALES))


def summarise(qualities: list[Quality]) -> dict[str, float]:
    summary = summarise_regions(np.stack([quality.regions for quality in qualities]))
    for count, row in zip(COUNTS, np.mean([quality.fixed for quality in qualities], axis=0), strict=True):
        summary |= {f"asa_{count}": row[0], f"recall_{count}": row[1]}
    summary["ms"] = 1000 * np.mean([quality.seconds for quality in qualities])
    return {key: round(float(value), 4) for key, value in summary.items()}


def summarise_regions(regions: np.ndarray) -> dict[str, float]:
    """Best scale for all images and for each, of (images, scales, 2)."""
    ods, ois = regions.mean(axis=0).max(axis=0), regions.max(axis=1).mean(axis=0)
    measures = ("covering", "pri")
    return {
        f"{measure}_{kind}": row[k] for kind, row in (("ods", ods), ("ois", ois)) for k, measure in enumerate(measures)
    }


if __name__ == "__main__":
    run_parts(__doc__, {"segmenters": judge_all})
