"""Defects on surfaces: segvote beside an anomaly detector and a class-activation map, on the same network.

    python benchmarks/bench_defects.py [SET ...] [--part sets|made] [--quick]

A SET holds ``with/``, ``without/`` and ``masks/``; ``made`` takes synthetic surfaces, 0.2 % of each damaged. All
systems have half of the *without* images; the other half are the negatives of the image-level AUROC.

- ``segvote``: `segvote annotate` in its own process. It chooses its thresholds (``miou``, ``corloc``).
- ``patchcore`` (Roth et al., 2022) sees no *with* image: cells of stride 8, each joined with the cell of stride 16 it
  lies in, both averaged over 3 x 3; a memory bank of the cells of *without* images thinned by a greedy coreset; the
  distance to the nearest of it, upsampled and blurred.
- ``cam``: a logistic regression of the two folders on the means of the network's last map, its weights read at every
  cell.

The last two give maps, not masks, and are given the threshold that is best for the truth (``best_miou``,
``best_corloc``).
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import cv2
import faiss
import numpy as np
from joblib import Parallel, delayed
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.preprocessing import StandardScaler

from harness import Given, link_images, measure_seconds, run_annotate, run_parts
from segvote import load_run, predict
from segvote.datasets import DEFECTS, make_surfaces, write_scenes
from segvote.features.networks.lite0 import Lite0Features
from segvote.io.images import list_images, read_image
from segvote.io.masks import read_mask
from segvote.metrics import measure_iou

N_QUICK = 24  # images of each kind
N_BANK, N_QUICK_BANK = 4000, 1000  # cells that the coreset keeps
N_POOL = 40_000  # cells that it chooses from
N_PROJECTED = 64  # dimensions in which it chooses, as PatchCore projects too
N_LEVELS = 200  # thresholds that are tried
BLUR = 4.0  # pixels of the judged map, PatchCore's
LONGEST = 512  # longest side at which pixels are judged
Figures = dict[str, float]


# Other systems -------------------------------------------------------------------------------------------------------


def describe_cells(extractor: Lite0Features, image: np.ndarray) -> np.ndarray:
    """(height, width, 152) features of the cells of stride 8."""
    fine, coarse = extractor.compute_maps(image)[:2]
    averaged = [cv2.blur(np.ascontiguousarray(cells.transpose(1, 2, 0)), (3, 3)) for cells in (fine, coarse)]
    enlarged = cv2.resize(averaged[1], averaged[0].shape[1::-1], interpolation=cv2.INTER_LINEAR)
    return np.concatenate([averaged[0], enlarged], axis=2).astype(np.float32)


def choose_coreset(cells: np.ndarray, n_kept: int, rng: np.random.Generator) -> np.ndarray:
    """Cells chosen one after another, each the farthest from those chosen before."""
    if len(cells) > N_POOL:
        cells = cells[rng.choice(len(cells), N_POOL, replace=False)]
    if len(cells) <= n_kept:
        return cells
    projected = cells @ rng.normal(0, N_PROJECTED**-0.5, (cells.shape[1], N_PROJECTED)).astype(np.float32)
    squares = np.einsum("ij,ij->i", projected, projected)
    chosen, distances = [int(rng.integers(len(cells)))], np.full(len(cells), np.inf, dtype=np.float32)
    while len(chosen) < n_kept:
        last = chosen[-1]
        np.minimum(distances, squares + squares[last] - 2 * (projected @ projected[last]), out=distances)
        chosen.append(int(np.argmax(distances)))
    return cells[chosen]


class PatchMemory:
    """Distance of an image's cells to those of images without a defect."""

    def __init__(self, paths: Sequence[Path], n_kept: int) -> None:
        self.extractor = Lite0Features()
        grids = [describe_cells(self.extractor, read_image(path)) for path in paths]
        cells = np.concatenate([grid.reshape(-1, grid.shape[2]) for grid in grids])
        # The two maps differ in scale; in PatchCore's backbone they hardly do.
        self.scale = 1 / np.maximum(cells.std(axis=0), 1e-6)
        bank = choose_coreset(cells * self.scale, n_kept, np.random.default_rng(0))
        self.index = faiss.IndexFlatL2(bank.shape[1])
        self.index.add(bank)

    def draw_map(self, image: np.ndarray, shape: tuple[int, int]) -> np.ndarray:
        grid = describe_cells(self.extractor, image) * self.scale
        squared = self.index.search(grid.reshape(-1, grid.shape[2]), 1)[0]
        distances = np.sqrt(np.maximum(squared, 0)).reshape(grid.shape[:2])
        return cv2.GaussianBlur(cv2.resize(distances, shape[::-1], interpolation=cv2.INTER_LINEAR), (0, 0), BLUR)


def draw_cams(shown: Sequence[Path], empty: Sequence[Path], jobs: int) -> list[np.ndarray]:
    """(height, width) class activation of each cell of the *with* images, from 0 to 1 in each image as is the habit."""
    maps = Parallel(jobs)(delayed(Lite0Features().compute_maps)(read_image(path)) for path in [*shown, *empty])
    cells = [one[-1].astype(np.float32) for one in maps]
    means = np.array([one.mean(axis=(1, 2)) for one in cells])
    standard = StandardScaler().fit(means)
    labels = np.repeat([1, 0], [len(shown), len(empty)])
    model = LogisticRegression(class_weight="balanced", max_iter=10_000).fit(standard.transform(means), labels)
    weights = (model.coef_[0] / standard.scale_).astype(np.float32)
    logits = [np.einsum("chw,c->hw", one, weights) for one in cells[: len(shown)]]
    return [(one - one.min()) / max(float(np.ptp(one)), 1e-6) for one in logits]


# Figures -------------------------------------------------------------------------------------------------------------


def measure_pixels(maps: Sequence[np.ndarray], truths: Sequence[np.ndarray]) -> Figures:
    """AUROC over all pixels that are not ignored; mean IoU and CorLoc at the thresholds that are best for the set."""
    values = np.concatenate([one[truth != 128] for one, truth in zip(maps, truths, strict=True)])
    labels = np.concatenate([truth[truth != 128] == 255 for truth in truths])
    levels = np.unique(np.quantile(values, 1 - np.geomspace(1e-4, 0.8, N_LEVELS)))
    ious = np.array(
        [[measure_iou(one > level, truth) for one, truth in zip(maps, truths, strict=True)] for level in levels]
    )
    return {
        "pixel_auroc": float(roc_auc_score(labels, values)),
        "best_miou": float(ious.mean(axis=1).max()),
        "best_corloc": float((ious > 0.5).mean(axis=1).max()),
    }


def measure_images(positive: Sequence[float], negative: Sequence[float]) -> Figures:
    labels = np.repeat([1, 0], [len(positive), len(negative)])
    return {"image_auroc": float(roc_auc_score(labels, [*positive, *negative]))}


def measure_patchcore(folder: Path, truths: Sequence[np.ndarray], n_kept: int) -> Figures:
    paths = list_images(folder / "with")

    def draw() -> tuple[PatchMemory, list[np.ndarray]]:
        memory = PatchMemory(list_images(folder / "without"), n_kept)
        return memory, [memory.draw_map(read_image(path), one.shape) for path, one in zip(paths, truths, strict=True)]

    (memory, maps), seconds = measure_seconds(draw)
    # All at one size: the blur is in pixels of the map.
    clean = [memory.draw_map(read_image(path), truths[0].shape) for path in list_images(folder / "held-out")]
    images = measure_images([float(one.max()) for one in maps], [float(one.max()) for one in clean])
    return {"seconds": seconds, **images, **measure_pixels(maps, truths)}


def measure_cam(folder: Path, truths: Sequence[np.ndarray], jobs: int) -> Figures:
    folders = [list_images(folder / name) for name in ("with", "without")]
    maps, seconds = measure_seconds(lambda: draw_cams(*folders, jobs))
    enlarged = [cv2.resize(one, truth.shape[::-1]) for one, truth in zip(maps, truths, strict=True)]
    return {"seconds": seconds, **measure_pixels(enlarged, truths)}


def measure_segvote(folder: Path, truths: Sequence[np.ndarray], jobs: int) -> Figures:
    _, seconds = measure_seconds(lambda: run_annotate(folder, folder / "out", jobs))
    run, clean = load_run(folder / "out"), predict(folder / "out", folder / "held-out", folder / "predicted")
    places = [run.find(f"with/{path.name}") for path in list_images(folder / "with")]
    scores = [run.votes["scores"][run.get_slice(place)] for place in places]
    drawn = [one.take(run.read_segments(place)["labels"]) for place, one in zip(places, scores, strict=True)]
    maps, masks = (
        [resize_nearest(one, truth.shape) for one, truth in zip(found, truths, strict=True)]
        for found in (drawn, [run.read_mask(place) for place in places])
    )
    ious = np.array([measure_iou(mask > 0, truth) for mask, truth in zip(masks, truths, strict=True)])
    return {
        "seconds": seconds,
        **measure_images([float(one.max()) for one in scores], [image.score for image in clean.images]),
        **measure_pixels(maps, truths),
        "miou": float(ious.mean()),
        "corloc": float((ious > 0.5).mean()),
    }


def resize_nearest(values: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    return cv2.resize(values.astype(np.float32), shape[::-1], interpolation=cv2.INTER_NEAREST)


# Sets ----------------------------------------------------------------------------------------------------------------


def read_truth(path: Path) -> np.ndarray:
    """A mask at the size at which pixels are judged."""
    truth = read_mask(path)
    factor = min(1.0, LONGEST / max(truth.shape))
    return cv2.resize(truth, None, fx=factor, fy=factor, interpolation=cv2.INTER_NEAREST)


def measure_set(source: Path, folder: Path, given: Given) -> dict[str, Figures]:
    """Each system on at most `N_QUICK` images of each kind, or all; every second *without* image is held out."""
    n_images, n_kept = (N_QUICK, N_QUICK_BANK) if given.quick else (None, N_BANK)
    link_images(source / "with", folder / "with", stop=n_images)
    link_images(source / "without", folder / "without", stop=n_images, step=2)
    link_images(source / "without", folder / "held-out", start=1, stop=n_images, step=2)
    truths = [read_truth(source / "masks" / f"{path.stem}.png") for path in list_images(folder / "with")]
    return {
        f"{source.name}, segvote": measure_segvote(folder, truths, given.jobs),
        f"{source.name}, patchcore": measure_patchcore(folder, truths, n_kept),
        f"{source.name}, cam": measure_cam(folder, truths, given.jobs),
    }


def measure_sets(given: Given) -> dict[str, Any]:
    figures = {}
    for source in given.sets:
        figures |= measure_set(source, given.scratch / source.name, given)
    return figures


def measure_made(given: Given) -> dict[str, Any]:
    figures = {}
    for kind in DEFECTS:
        write_scenes(given.scratch / kind, make_surfaces(20, 40, kind=kind, area=(0.002, 0.002)))
        figures |= measure_set(given.scratch / kind, given.scratch / f"{kind}-halves", given)
    return figures


if __name__ == "__main__":
    run_parts(__doc__, {"sets": measure_sets, "made": measure_made})
