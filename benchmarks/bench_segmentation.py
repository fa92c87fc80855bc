"""Judge every segmenter against people: ``python benchmarks/bench_segmentation.py [--quick] [--published] [DATA]``.

DATA is a BSDS500 folder with ``images``, ``groundTruth`` and, where present, the authors' ``ucm2``. Printed are a table
over the images that have a published ucm2, so that all rows are about the same pictures, a table over all images, and
last one line of JSON. Covering, Rand index and variation of information are taken over 60 cuts of each tree, at the
best scale for the whole set (ODS) and for each image (OIS); boundary F matches pixels one to one within .0075 of the
diagonal. gpb is fitted on one half of the images and judged on the other, crosswise; ``--quick`` takes ten images and
the numbers that come with the package. Times are the processor's, of one thread, not the clock's.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import cv2
import numpy as np
from scipy import sparse
from scipy.io import loadmat
from threadpoolctl import threadpool_limits

from fit_gpb import fit_model, list_names, read_image, read_truths
from segvote.metrics.segmentation_quality import (
    count_overlaps,
    find_outline,
    match_boundaries,
    measure_achievable,
    measure_boundary_recall,
    measure_covering,
    measure_rand_index,
    measure_variation,
)
from segvote.segmentation import SEGMENTERS
from segvote.segmentation.gpb import GpbModel, segment_gpb, segment_with_model
from segvote.segmentation.hierarchy import cut_tree
from segvote.segmentation.ucm import segment_ucm
from segvote.types import Segmentation

COUNTS = (100, 200, 400)
FINEST = 1000  # segments of the tree that is cut at many scales
N_SCALES = 60
N_BOUNDARY_SCALES = 20
TOLERANCE = 0.0075  # of the diagonal
DEFAULT_DATA = Path(__file__).resolve().parents[2] / "shared" / "data" / "bsds500-val"
AUTHORS = "authors' ucm2"
NESTED = ("ward", "gpb", AUTHORS)  # fewer segments are a coarser cut of the same tree: no need to segment again
Segmenter = Callable[[str, np.ndarray, int], Segmentation]


@dataclass(frozen=True)
class Case:
    """One image and what people drew on it."""

    name: str
    image: np.ndarray
    labels: list[np.ndarray]
    drawn: list[np.ndarray]
    is_published: bool


@dataclass(frozen=True)
class Verdict:
    """What one segmenter got on one image."""

    regions: np.ndarray  # (n_scales, 3) covering, Rand index, variation
    fixed: np.ndarray  # (n_counts, 2) achievable accuracy, boundary recall
    boundaries: np.ndarray | None  # (n_boundary_scales, 4) matched, found, matched, drawn; None where not asked for
    seconds: float


def judge_image(title: str, segment: Segmenter, case: Case, heights: np.ndarray) -> Verdict:
    start = time.process_time()
    segment(case.name, case.image, 200)
    seconds = time.process_time() - start
    tree = segment(case.name, case.image, FINEST)
    boundaries = judge_boundaries(tree, case.drawn, heights) if case.is_published else None
    maps = [cut_labels(tree, n) if title in NESTED else segment(case.name, case.image, n).labels for n in COUNTS]
    fixed = np.array([judge_count(labels, case) for labels in maps])
    return Verdict(judge_regions(tree, case.labels, heights), fixed, boundaries, seconds)


def cut_labels(tree: Segmentation, n_segments: int) -> np.ndarray:
    return cut_tree(tree.parents, tree.altitudes, n_segments)[tree.labels]


def judge_count(labels: np.ndarray, case: Case) -> tuple[float, float]:
    outline = find_outline(labels)
    accuracy = np.mean([measure_achievable(count_overlaps(labels, truth)) for truth in case.labels])
    return float(accuracy), float(np.mean([measure_boundary_recall(outline, truth) for truth in case.drawn]))


def judge_regions(tree: Segmentation, labels: list[np.ndarray], heights: np.ndarray) -> np.ndarray:
    tables = [count_overlaps(tree.labels, truth) for truth in labels]
    measures = (measure_covering, measure_rand_index, measure_variation)
    rows = []
    for regions in cut_at_heights(tree, heights):
        sums = sparse.csr_matrix((np.ones(len(regions), np.int64), (regions, np.arange(len(regions)))))
        rows.append([np.mean([measure(sums @ table) for table in tables]) for measure in measures])
    return np.array(rows)


def judge_boundaries(tree: Segmentation, drawn: list[np.ndarray], heights: np.ndarray) -> np.ndarray:
    """Pixels matched and found, counted once for all people, and matched and drawn, counted for each: Martin's way."""
    tolerance = TOLERANCE * np.hypot(*tree.labels.shape)
    rows = []
    for regions in cut_at_heights(tree, heights[:: N_SCALES // N_BOUNDARY_SCALES]):
        outline = find_outline(regions[tree.labels])
        pairs = [match_boundaries(outline, truth, tolerance) for truth in drawn]
        found = np.any([pair[0] for pair in pairs], axis=0)
        rows.append([found.sum(), outline.sum(), sum(pair[1].sum() for pair in pairs), sum(map(np.sum, drawn))])
    return np.array(rows, float)


def cut_at_heights(tree: Segmentation, heights: np.ndarray) -> list[np.ndarray]:
    """Regions left when everything at or below each height is merged."""
    inner = tree.altitudes[tree.n_segments :]
    return [cut_tree(tree.parents, tree.altitudes, 1 + int((inner > height).sum())) for height in heights]


def choose_heights(segment: Segmenter, cases: list[Case]) -> np.ndarray:
    """Scales spread over the altitudes at which trees of some images have 2 to 200 regions."""
    tops = [np.sort(segment(case.name, case.image, FINEST).altitudes)[-200:] for case in cases[:10]]
    return np.quantile(np.concatenate(tops), np.linspace(0, 0.999, N_SCALES))


def summarise(verdicts: list[Verdict]) -> dict[str, float]:
    summary = summarise_regions(np.stack([verdict.regions for verdict in verdicts]))
    boundaries = [verdict.boundaries for verdict in verdicts if verdict.boundaries is not None]
    if boundaries:
        summary["boundary_f_ods"] = summarise_boundaries(np.sum(boundaries, axis=0))
    for count, row in zip(COUNTS, np.mean([verdict.fixed for verdict in verdicts], axis=0), strict=True):
        summary |= {f"asa_{count}": row[0], f"recall_{count}": row[1]}
    summary["ms"] = 1000 * np.mean([verdict.seconds for verdict in verdicts])
    return {key: round(float(value), 4) for key, value in summary.items()}


def summarise_regions(regions: np.ndarray) -> dict[str, float]:
    """Best scale for all images and for each, of (images, scales, 3)."""
    signed = regions * [1, 1, -1]  # variation is better when lower
    ods, ois = np.abs(signed.mean(axis=0).max(axis=0)), np.abs(signed.max(axis=1).mean(axis=0))
    measures = ("covering", "pri", "vi")
    return {
        f"{measure}_{kind}": row[k] for kind, row in (("ods", ods), ("ois", ois)) for k, measure in enumerate(measures)
    }


def summarise_boundaries(counts: np.ndarray) -> float:
    matched, found, recalled, drawn = counts.T
    precision, recall = matched / np.maximum(found, 1), recalled / drawn
    return float((2 * precision * recall / np.maximum(precision + recall, 1e-9)).max())


def make_segmenters(folder: Path, is_quick: bool) -> dict[str, Segmenter]:
    def wrap(function: Callable) -> Segmenter:
        return lambda name, image, count: function(image, count)

    segmenters = {name: wrap(SEGMENTERS[name]) for name in SEGMENTERS}
    if not is_quick:
        models = fit_crosswise(folder)
        prior = segment_gpb.__kwdefaults__["size_prior"]
        segmenters["gpb"] = lambda name, image, count: segment_with_model(image, models[name], count, prior)
    segmenters[AUTHORS] = lambda name, image, count: segment_ucm(read_ucm(folder, name), count)
    return segmenters


def read_ucm(folder: Path, name: str) -> np.ndarray:
    return loadmat(folder / "ucm2" / f"{name}.mat")["ucm2"]


def fit_crosswise(folder: Path) -> dict[str, GpbModel]:
    """For each image a model that was fitted on the half that does not hold it."""
    names = list_names(folder)
    models = {}
    for half in (0, 1):
        fitted = fit_model(folder, names[half::2])
        models |= dict.fromkeys(names[1 - half :: 2], fitted)
    return models


def read_cases(folder: Path, is_quick: bool, is_published: bool) -> list[Case]:
    published = {path.stem for path in (folder / "ucm2").glob("*.mat")}
    names = list_names(folder)
    if (is_quick or is_published) and published:
        names = [name for name in names if name in published]
    names = names[:10] if is_quick else names
    return [Case(name, read_image(folder, name), *read_truths(folder, name), name in published) for name in names]


def format_table(title: str, summaries: dict[str, dict[str, float]]) -> str:
    heads = ["segmenter", "ms", "covering ODS/OIS", "PRI", "VI", "boundary F"]
    heads += [f"{count}: ASA/recall" for count in COUNTS]
    lines = ["", title, "", "| " + " | ".join(heads) + " |", "|---" * len(heads) + "|"]
    return "\n".join(lines + [format_row(name, row) for name, row in summaries.items()])


def format_row(name: str, row: dict[str, float]) -> str:
    time_taken = "minutes" if name == AUTHORS else f"{row['ms']:.0f}"
    cells = [name, time_taken, f"{row['covering_ods']:.3f}/{row['covering_ois']:.3f}"]
    cells += [f"{row[key]:.3f}" if key in row else "-" for key in ("pri_ods", "vi_ods", "boundary_f_ods")]
    cells += [f"{row[f'asa_{count}']:.3f}/{row[f'recall_{count}']:.3f}" for count in COUNTS]
    return "| " + " | ".join(cells) + " |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, nargs="?", default=DEFAULT_DATA)
    parser.add_argument("--quick", action="store_true", help="ten images, the numbers that come with the package")
    parser.add_argument("--published", action="store_true", help="judge only images with a published ucm2")
    arguments = parser.parse_args()
    cv2.setNumThreads(1)
    threadpool_limits(1)
    cases = read_cases(arguments.data, arguments.quick, arguments.published)
    same, everything = {}, {}
    for title, segment in make_segmenters(arguments.data, arguments.quick).items():
        judged = [case for case in cases if case.is_published or title != AUTHORS]
        if not judged:
            continue
        heights = choose_heights(segment, judged)
        verdicts = [judge_image(title, segment, case, heights) for case in judged]
        everything[title] = summarise(verdicts)
        published = [verdict for verdict, case in zip(verdicts, judged, strict=True) if case.is_published]
        if published:
            same[title] = summarise(published)
        print(title, same.get(title, everything[title]), flush=True)
    if same:
        print(format_table("The images with a published ucm2", same))
    if not same or len(published) < len(cases):
        print(format_table("All images (the authors' row, and boundary F: those with a published ucm2)", everything))
    print(
        json.dumps({"benchmark": "segmentation", "n_images": len(cases), "same_images": same, "all_images": everything})
    )


if __name__ == "__main__":
    main()
