"""Segmenters against people on BSDS500, half an hour; and the fit of the numbers of ``gpb``.

    python benchmarks/bench_segmentation.py BSDS_FOLDER [--part segmenters|fit] [--quick]

The folder holds ``images/NAME.jpg``, ``groundTruth/NAME.mat`` and, where present, the authors' ``ucm2``; images without
a published ucm2 are left out where there are some, so that all rows are about the same pictures.

- ``segmenters``: covering, Rand index, achievable accuracy, boundary recall. gpb is fitted on one half of the images,
  judged on the other, crosswise; ``--quick`` takes ten images and the numbers that come with the package. Covering and
  Rand index are taken over 60 cuts of each tree, at the best scale for the whole set (ODS) and for each image (OIS).
  Region measures take a table of overlaps, (n_segments, n_truth) pixel counts: a coarser cut of the same segments only
  adds rows, so that a whole hierarchy is judged from one table. Times are those of the processor, of one thread.
- ``fit``: prints ``gpb.json``. Three things are fitted in turn: textons by k-means of filter responses; weights of the
  contrasts, by logistic regression on pixels that people drew against pixels far from any line; weights of contrasts
  and spectral steps, by logistic regression on arcs, whose target is the part of the people who put the two sides into
  different segments.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import cv2
import faiss
import numpy as np
from numpy.typing import NDArray
from PIL import Image
from scipy import ndimage, sparse
from scipy.io import loadmat
from sklearn.linear_model import LogisticRegression
from threadpoolctl import threadpool_limits

from harness import Given, run_parts
from segvote.metrics.boundary import measure_nearby
from segvote.numerics.pixels import convert_to_lab
from segvote.segmentation import SEGMENTERS, gpb
from segvote.segmentation.arcs import average_along
from segvote.segmentation.cues import N_FILTERS, filter_texture
from segvote.segmentation.hierarchy import cut_tree
from segvote.segmentation.ucm import segment_ucm
from segvote.types import Segmentation

AUTHORS = "authors' ucm2"
N_QUICK = 10  # images
NESTED = ("ward", "gpb", AUTHORS)
COUNTS = (100, 200, 400)
FINEST = 1000  # segments of the tree that is cut at many scales
N_SCALES = 60
N_TEXTONS, N_CONTRASTS = 32, 15
N_NEAR, N_FAR = 2000, 4000  # pixels of each image
NEAR, FAR = 2.0, 4.0  # pixels from a line that count as on it, and as off it
ORIGIN = "benchmarks/bench_segmentation.py on {} images of BSDS500 val and the human segmentations that come with them"


def list_names(folder: Path) -> list[str]:
    return sorted(path.stem for path in (folder / "images").glob("*.jpg"))


def read_image(folder: Path, name: str) -> np.ndarray:
    return np.asarray(Image.open(folder / "images" / f"{name}.jpg").convert("RGB"))


def read_truths(folder: Path, name: str) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Label maps and boundaries that people drew, one of each per person."""
    people = loadmat(folder / "groundTruth" / f"{name}.mat")["groundTruth"][0]
    labels = [person["Segmentation"][0, 0].astype(np.int64) for person in people]
    return labels, [person["Boundaries"][0, 0].astype(bool) for person in people]


def count_overlaps(labels: np.ndarray, truth: np.ndarray) -> NDArray[np.int64]:
    """(n_segments, n_truth) pixels that each segment (h, w) shares with each region of the truth (h, w)."""
    n_segments, n_truth = int(labels.max()) + 1, int(truth.max()) + 1
    keys = labels.ravel().astype(np.int64) * n_truth + truth.ravel()
    return np.bincount(keys, minlength=n_segments * n_truth).reshape(n_segments, n_truth)


# Quality -------------------------------------------------------------------------------------------------------------


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


def measure_boundary_recall(outline: NDArray[np.bool_], truth: NDArray[np.bool_], tolerance: float = 2.0) -> float:
    """Fraction of the true boundary pixels with a found one within tolerance pixels; 1 where nothing is to be found."""
    if not truth.any() or not outline.any():
        return float(not truth.any())
    return measure_nearby(truth, outline, tolerance)


Segmenter = Callable[[str, np.ndarray, int], Segmentation]  # of the name and the image, and the number of segments
Case = tuple[str, np.ndarray, list[np.ndarray], list[np.ndarray]]  # name, image, label maps and boundaries by people


def judge_all(given: Given) -> dict[str, Any]:
    """Segmenter to its figures."""
    if not given.sets:
        return {"skipped": "no BSDS folder"}
    cv2.setNumThreads(1)
    threadpool_limits(1)
    (folder,), figures = given.sets, {}
    published = {path.stem for path in (folder / "ucm2").glob("*.mat")}
    names = [name for name in list_names(folder) if not published or name in published]
    names = names[:N_QUICK] if given.quick else names
    cases = [(name, read_image(folder, name), *read_truths(folder, name)) for name in names]
    for title, segment in list_segmenters(folder, given.quick):
        figures[title] = judge_segmenter(segment, cases, title in NESTED)
        print(title, figures[title], flush=True)
    return figures


def list_segmenters(folder: Path, quick: bool) -> Iterator[tuple[str, Segmenter]]:
    """Segmenters by name; gpb with, for each image, a model fitted on the half without it, unless it is quick."""
    for title, function in SEGMENTERS.items():
        if title != "gpb" or quick:
            yield title, lambda name, image, count, function=function: function(image, count)
    if not quick:
        names = list_names(folder)
        fitted = [fit_model(folder, names[half::2]) for half in (0, 1)]
        models = {name: fitted[1 - number % 2] for number, name in enumerate(names)}
        yield "gpb", lambda name, image, count: gpb.segment_with_model(image, models[name], count)
    if (folder / "ucm2").is_dir():
        yield AUTHORS, lambda name, image, count: segment_ucm(loadmat(folder / "ucm2" / f"{name}.mat")["ucm2"], count)


def judge_segmenter(segment: Segmenter, cases: list[Case], is_nested: bool) -> dict[str, float]:
    """Means over the images; covering and Rand index at the best scale for all of them (ODS) and for each (OIS)."""
    # Scales spread over the altitudes at which trees of some images have 2 to 200 regions.
    tops = [np.sort(segment(name, image, FINEST).altitudes)[-200:] for name, image, *_ in cases[:10]]
    heights = np.quantile(np.concatenate(tops), np.linspace(0, 0.999, N_SCALES))
    judged = [judge_image(segment, case, heights, is_nested) for case in cases]
    regions, fixed, seconds = (np.stack(parts) for parts in zip(*judged, strict=True))
    ods, ois = regions.mean(axis=0).max(axis=0), regions.max(axis=1).mean(axis=0)
    figures = {"covering_ods": ods[0], "pri_ods": ods[1], "covering_ois": ois[0], "pri_ois": ois[1]}
    for count, (accuracy, recall) in zip(COUNTS, fixed.mean(axis=0), strict=True):
        figures |= {f"asa_{count}": accuracy, f"recall_{count}": recall}
    return {name: round(float(value), 4) for name, value in (figures | {"ms": 1000 * seconds.mean()}).items()}


def judge_image(
    segment: Segmenter, case: Case, heights: np.ndarray, is_nested: bool
) -> tuple[np.ndarray, np.ndarray, float]:
    """Covering and Rand index by scale (n, 2), accuracy and recall by count (n, 2), seconds of the processor.

    With `is_nested` fewer segments are a coarser cut of the same tree.
    """
    name, image, truths, drawn = case
    start = time.process_time()
    segment(name, image, 200)
    seconds = time.process_time() - start
    tree, fixed = segment(name, image, FINEST), []
    for count in COUNTS:
        cut = cut_tree(tree.parents, tree.altitudes, count)[tree.labels] if is_nested else None
        labels = segment(name, image, count).labels if cut is None else cut
        outline = np.zeros(labels.shape, bool)
        outline[:, :-1] |= labels[:, :-1] != labels[:, 1:]
        outline[:-1] |= labels[:-1] != labels[1:]
        accuracy = np.mean([measure_achievable(count_overlaps(labels, truth)) for truth in truths])
        fixed.append((accuracy, np.mean([measure_boundary_recall(outline, truth) for truth in drawn])))
    tables, inner, rows = (
        [count_overlaps(tree.labels, truth) for truth in truths],
        tree.altitudes[tree.n_segments :],
        [],
    )
    for height in heights:
        regions = cut_tree(tree.parents, tree.altitudes, 1 + int((inner > height).sum()))
        sums = sparse.csr_matrix((np.ones(len(regions), np.int64), (regions, np.arange(len(regions)))))
        joined = [sums @ table for table in tables]
        rows.append([np.mean([measure(one) for one in joined]) for measure in (measure_covering, measure_rand_index)])
    return np.array(rows), np.array(fixed), seconds


# Fit of gpb ----------------------------------------------------------------------------------------------------------


def fit_model(folder: Path, names: Sequence[str], origin: str = "") -> gpb.GpbModel:
    """All three fits on the named images."""
    textons = fit_textons(folder, names)
    pixel_weights, pixel_bias = fit_pixels(folder, names, textons)
    half = gpb.GpbModel(textons, pixel_weights, pixel_bias, np.zeros(N_CONTRASTS + 2), 0.0)
    arc_weights, arc_bias = fit_arcs(folder, names, half)
    return gpb.GpbModel(textons, pixel_weights, pixel_bias, arc_weights, arc_bias, origin)


def fit_textons(folder: Path, names: Sequence[str], n_pixels: int = 2000) -> np.ndarray:
    rng = np.random.default_rng(0)
    samples = []
    for name in names:
        lightness = np.ascontiguousarray(convert_to_lab(read_image(folder, name))[..., 0])
        samples.append(rng.choice(filter_texture(lightness).reshape(-1, N_FILTERS), n_pixels, replace=False))
    kmeans = faiss.Kmeans(N_FILTERS, N_TEXTONS, niter=20, seed=1)
    kmeans.train(np.concatenate(samples).astype(np.float32))
    return kmeans.centroids


def fit_pixels(folder: Path, names: Sequence[str], textons: np.ndarray) -> tuple[np.ndarray, float]:
    """Weights of contrasts; the direction of each sample is the strongest under the weights of the round before."""
    rng = np.random.default_rng(0)
    samples = [sample_pixels(folder, name, textons, rng) for name in names]
    contrasts = np.concatenate([sample[0] for sample in samples], axis=1)  # (8, n, 15)
    targets, weights = (np.concatenate([sample[k] for sample in samples]) for k in (1, 2))
    slopes = 1 / contrasts.std(axis=(0, 1))
    for _ in range(2):
        strongest = (contrasts @ slopes).argmax(axis=0)
        slopes, bias = fit_logistic(contrasts[strongest, np.arange(len(targets))], targets, weights)
    return slopes, bias


def sample_pixels(
    folder: Path, name: str, textons: np.ndarray, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Contrasts (8, n, 15), targets and weights (n,) of pixels on and off lines; a line is weighted by agreement."""
    distances = np.stack([ndimage.distance_transform_edt(~drawn) for drawn in read_truths(folder, name)[1]])
    on, off = np.argwhere((distances == 0).any(axis=0)), np.argwhere((distances > FAR).all(axis=0))
    on, off = (rng.permutation(places)[:count] for places, count in ((on, N_NEAR), (off, N_FAR)))
    agreement = (distances <= NEAR).mean(axis=0)[tuple(on.T)]
    rows, columns = np.concatenate([on, off]).T
    found = gpb.measure_contrasts(read_image(folder, name), textons)
    contrasts = np.stack([found.weigh(unit)[:, rows, columns] for unit in np.eye(N_CONTRASTS)], axis=-1)
    targets = np.repeat([1.0, 0.0], [len(on), len(off)])
    return contrasts, targets, np.concatenate([agreement, np.ones(len(off))])


def fit_arcs(folder: Path, names: Sequence[str], model: gpb.GpbModel) -> tuple[np.ndarray, float]:
    samples = [sample_arcs(folder, name, model) for name in names]
    values, targets, lengths = (np.concatenate([sample[k] for sample in samples]) for k in range(3))
    return fit_logistic(values, targets, lengths)


def sample_arcs(folder: Path, name: str, model: gpb.GpbModel) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Contrasts and steps (n, 17), part of the people who separate the two sides (n,), and lengths (n,) of all arcs."""
    found = gpb.measure_contrasts(read_image(folder, name), model.textons)
    odds = gpb.smooth_along(found.weigh(model.pixel_weights) + np.float32(model.pixel_bias))
    steps = gpb.measure_spectral(odds)
    basins, arcs, strongest = gpb.find_boundaries(odds, steps)
    maps = [found.weigh(unit) for unit in np.eye(N_CONTRASTS)]
    maps += [gpb.enlarge(steps, basins.shape), gpb.enlarge(np.sqrt(steps), basins.shape)]
    values = np.stack([average_along(arcs, plane, strongest) for plane in maps], axis=1)
    owners = [count_overlaps(basins, truth).argmax(axis=1)[arcs.pairs] for truth in read_truths(folder, name)[0]]
    separated = np.mean([owner[:, 0] != owner[:, 1] for owner in owners], axis=0)
    return values, separated, arcs.lengths


def fit_logistic(values: np.ndarray, targets: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, float]:
    """Logistic regression with targets in 0 .. 1: each sample counts for both answers, by its target."""
    spread = values.std(axis=0)
    doubled = np.concatenate([values, values]) / spread
    answers = np.repeat([1, 0], len(targets))
    shares = np.concatenate([weights * targets, weights * (1 - targets)])
    fitted = LogisticRegression(max_iter=1000).fit(doubled, answers, sample_weight=shares)
    return fitted.coef_[0] / spread, float(fitted.intercept_[0])


def print_model(given: Given) -> dict[str, Any]:
    """Print the model fitted to all images as JSON, six digits a number."""
    if not given.sets:
        return {"skipped": "no BSDS folder"}
    names = list_names(given.sets[0])
    model = fit_model(given.sets[0], names, ORIGIN.format(len(names)))
    stored: dict[str, Any] = {"origin": model.origin}
    for field in ("textons", "pixel_weights", "pixel_bias", "arc_weights", "arc_bias"):
        values = np.asarray(getattr(model, field), np.float64)
        stored[field] = np.vectorize(lambda value: float(f"{value:.6g}"))(values).tolist()
    print(json.dumps(stored, separators=(",", ":")).replace('],"', '],\n"').replace("],[", "],\n["))
    return {"images": len(names)}


if __name__ == "__main__":
    run_parts(__doc__, {"segmenters": judge_all, "fit": print_model})
