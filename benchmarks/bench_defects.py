"""Defects on surfaces: segvote beside the nearest-neighbour anomaly detector; last line JSON.

    python benchmarks/bench_defects.py [DATA [SET ...]] [--quick] [--made] [--peers]

DATA holds sets of ``with/``, ``without/`` and ``masks/``. The peer does what PatchCore (Roth et al., 2022) does, on the
maps that segvote uses too: cells of stride 8, each joined with the cell of stride 16 it lies in, both averaged over
3 x 3; a memory bank of the cells of *without* images thinned by a greedy coreset; the distance to the nearest of it,
upsampled and blurred. It never sees a *with* image, but it is given the threshold that is best for the truth; segvote
sees both folders and decides alone (``mask_iou``, ``corloc``); its scores are judged at their best threshold too.

Both have half of the *without* images; the other half, never seen, are the negatives of the image-level AUROC. (The
positives took part in segvote's vote, not in the peer's bank.) Pixel-level figures are over the *with* images.

``--peers`` compares seconds and CorLoc of the whole job on any set instead, with all its images: ``segvote annotate``
in a process of its own with two jobs, everything it writes included; ``cam``, a class-activation map as a script of
forty lines makes it (the network's last map, averaged over each image, a logistic regression of the two folders, its
weights read at every cell); and the anomaly detector. The last two give maps, not masks, and are given the threshold
that is best for the truth of the set.
"""

from __future__ import annotations

import argparse
import json
import shutil
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import cv2
import faiss
import numpy as np
from joblib import Parallel, delayed
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.preprocessing import StandardScaler

from harness import link_images, measure_seconds, start_annotate, wait_for
from segvote import annotate, load_run, predict
from segvote.datasets import DEFECTS, write_surfaces
from segvote.features.networks.lite0 import Lite0Features
from segvote.io.images import list_images, read_image
from segvote.io.masks import read_mask
from segvote.metrics import measure_iou

SETS = ("tile-fray", "tile-break", "coffee-lesions", "steel-patches")
N_QUICK = 24  # images of each kind
N_BANK = 4000  # cells that the coreset keeps
N_QUICK_BANK = 1000
N_POOL = 40_000  # cells that it chooses from
N_PROJECTED = 64  # dimensions in which it chooses, as PatchCore projects too
N_LEVELS = 200  # thresholds that are tried
BLUR = 4.0  # pixels of the judged map, PatchCore's
LONGEST = 512  # longest side at which pixels are judged
JOBS = 2  # processes of `--peers`


# The peer ------------------------------------------------------------------------------------------------------------


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


# Figures -------------------------------------------------------------------------------------------------------------


def shrink(truth: np.ndarray) -> np.ndarray:
    """Truth at the size at which pixels are judged."""
    factor = min(1.0, LONGEST / max(truth.shape))
    return cv2.resize(truth, None, fx=factor, fy=factor, interpolation=cv2.INTER_NEAREST)


def measure_pixels(maps: Sequence[np.ndarray], truths: Sequence[np.ndarray]) -> dict[str, float]:
    """AUROC over all pixels that are not ignored, and the mean IoU at the one threshold that is best for the set."""
    values = np.concatenate([one[truth != 128] for one, truth in zip(maps, truths, strict=True)])
    labels = np.concatenate([truth[truth != 128] == 255 for truth in truths])
    levels = np.unique(np.quantile(values, 1 - np.geomspace(1e-4, 0.7, N_LEVELS)))
    means = [
        np.mean([measure_iou(one > level, truth) for one, truth in zip(maps, truths, strict=True)]) for level in levels
    ]
    return {"pixel_auroc": float(roc_auc_score(labels, values)), "best_iou": float(max(means))}


def measure_images(positive: Sequence[float], negative: Sequence[float]) -> dict[str, float]:
    labels = np.repeat([1, 0], [len(positive), len(negative)])
    return {"image_auroc": float(roc_auc_score(labels, [*positive, *negative]))}


def measure_peer(stage: Stage, n_kept: int) -> dict[str, float]:
    began, memory = time.perf_counter(), PatchMemory(stage.list_images("without"), n_kept)
    maps = _draw_maps(memory, stage.list_images("with"), stage.truths)
    # All at one size: the blur is in pixels of the map.
    clean = [memory.draw_map(read_image(path), stage.truths[0].shape) for path in stage.list_images("held-out")]
    return {
        **measure_images([float(one.max()) for one in maps], [float(one.max()) for one in clean]),
        **measure_pixels(maps, stage.truths),
        "seconds": time.perf_counter() - began,
    }


def measure_segvote(stage: Stage) -> dict[str, float]:
    began = time.perf_counter()
    run = annotate(stage.folder / "with", stage.folder / "without", stage.folder / "out")
    seconds = time.perf_counter() - began
    clean = predict(run.folder.path, stage.folder / "held-out", stage.folder / "predicted")
    places = [run.find(f"with/{path.name}") for path in stage.list_images("with")]
    scores = [run.votes["scores"][run.get_slice(place)] for place in places]
    maps, ious = [], []
    for place, values, truth in zip(places, scores, stage.truths, strict=True):
        maps.append(fit(values.take(run.read_segments(place)["labels"]), truth.shape))
        ious.append(measure_iou(fit(run.read_mask(place), truth.shape) > 0, truth))
    return {
        **measure_images([float(one.max()) for one in scores], [image.score for image in clean.images]),
        **measure_pixels(maps, stage.truths),
        "mask_iou": float(np.mean(ious)),
        "corloc": float(np.mean(np.array(ious) > 0.5)),
        "seconds": seconds,
    }


def fit(values: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """A map of single values at another size."""
    return cv2.resize(values.astype(np.float32), shape[::-1], interpolation=cv2.INTER_NEAREST)


# A set ---------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Stage:
    """A copy of a set with ``with``, ``without`` and ``held-out``, the other half of the *without* images."""

    folder: Path
    truths: list[np.ndarray]  # of the *with* images, at the size at which pixels are judged

    def list_images(self, part: str) -> list[Path]:
        return list_images(self.folder / part)


def lay_out(source: Path, folder: Path, n_images: int | None) -> Stage:
    """Copy at most `n_images` of each kind; *without* images go to either side in turn."""
    for part in ("with", "without", "held-out"):
        (folder / part).mkdir(parents=True)
    for path in list_images(source / "with")[:n_images]:
        shutil.copy(path, folder / "with")
    for number, path in enumerate(list_images(source / "without")[:n_images]):
        shutil.copy(path, folder / ("held-out" if number % 2 else "without"))
    truths = [shrink(read_mask(source / "masks" / f"{path.stem}.png")) for path in list_images(folder / "with")]
    return Stage(folder, truths)


def measure_set(name: str, source: Path, quick: bool) -> dict:
    with tempfile.TemporaryDirectory(prefix="segvote-bench-") as folder:
        stage = lay_out(source, Path(folder), N_QUICK if quick else None)
        row = {"peer": measure_peer(stage, N_QUICK_BANK if quick else N_BANK), "segvote": measure_segvote(stage)}
    for system, figures in row.items():
        print(f"{name:16} {system:8} " + "  ".join(f"{key} {value:.3f}" for key, value in figures.items()), flush=True)
    return {"set": name, **row}


def measure_made(kind: str, quick: bool) -> dict:
    """A set of synthetic surfaces, 0.2 % of each damaged."""
    with tempfile.TemporaryDirectory(prefix="segvote-bench-") as folder:
        write_surfaces(folder, 20, 40, kind=kind, area=(0.002, 0.002))
        return measure_set(f"made-{kind}", Path(folder), quick)


# The whole job beside other tools ------------------------------------------------------------------------------------


def compute_cells(path: Path) -> np.ndarray:
    return Lite0Features().compute_maps(read_image(path))[-1].astype(np.float32)


def make_cams(shown: Sequence[Path], empty: Sequence[Path]) -> list[np.ndarray]:
    """(height, width) class activation of each cell of the *with* images, from 0 to 1 in each image as is the habit."""
    cells = Parallel(JOBS)(delayed(compute_cells)(path) for path in [*shown, *empty])
    means = np.array([one.mean(axis=(1, 2)) for one in cells])
    standard = StandardScaler().fit(means)
    labels = np.repeat([1, 0], [len(shown), len(empty)])
    model = LogisticRegression(class_weight="balanced", max_iter=10_000).fit(standard.transform(means), labels)
    weights = (model.coef_[0] / standard.scale_).astype(np.float32)
    logits = [np.einsum("chw,c->hw", one, weights) for one in cells[: len(shown)]]
    return [(one - one.min()) / max(float(np.ptp(one)), 1e-6) for one in logits]


def measure_best_corloc(maps: Sequence[np.ndarray], truths: Sequence[np.ndarray]) -> float:
    """CorLoc at the threshold that is best for the set."""
    maps = [cv2.resize(one, truth.shape[::-1]) for one, truth in zip(maps, truths, strict=True)]
    levels = np.quantile(np.concatenate([one.ravel() for one in maps]), 1 - np.geomspace(1e-3, 0.8, N_LEVELS))
    found = [
        [measure_iou(one > level, truth) > 0.5 for one, truth in zip(maps, truths, strict=True)] for level in levels
    ]
    return float(max(np.mean(one) for one in found))


def annotate_alone(source: Path, folder: Path, n_images: int | None) -> None:
    for bag_label in ("with", "without"):
        link_images(source / bag_label, folder / bag_label, stop=n_images)
    wait_for(start_annotate(folder, folder / "out", JOBS))


def measure_peers(name: str, source: Path, quick: bool) -> dict:
    n_images, n_kept = (N_QUICK // 3, N_QUICK_BANK) if quick else (None, N_BANK)
    shown, empty = (list_images(source / part)[:n_images] for part in ("with", "without"))
    truths = [shrink(read_mask(source / "masks" / f"{path.stem}.png")) for path in shown]
    with tempfile.TemporaryDirectory(prefix="segvote-bench-") as scratch:
        seconds = {"segvote": measure_seconds(lambda: annotate_alone(source, Path(scratch), n_images))[1]}
        run = load_run(Path(scratch) / "out")
        masks = [
            fit(run.read_mask(run.find(f"with/{path.name}")), truth.shape)
            for path, truth in zip(shown, truths, strict=True)
        ]
    corloc = {
        "segvote": float(np.mean([measure_iou(one > 0, truth) > 0.5 for one, truth in zip(masks, truths, strict=True)]))
    }
    makers = {
        "cam": lambda: make_cams(shown, empty),
        "patchcore": lambda: _draw_maps(PatchMemory(empty, n_kept), shown, truths),
    }
    for system, make in makers.items():
        maps, seconds[system] = measure_seconds(make)
        corloc[system] = measure_best_corloc(maps, truths)
    for system in corloc:
        print(f"{name:16} {system:10} {seconds[system]:.1f} s, CorLoc {corloc[system]:.2f}", flush=True)
    return {"set": name, "seconds": seconds, "corloc": corloc}


def _draw_maps(memory: PatchMemory, paths: Sequence[Path], truths: Sequence[np.ndarray]) -> list[np.ndarray]:
    return [memory.draw_map(read_image(path), truth.shape) for path, truth in zip(paths, truths, strict=True)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", nargs="?", type=Path, metavar="DATA", help="none: synthetic surfaces alone")
    parser.add_argument("sets", nargs="*", metavar="SET", help=f"default: {', '.join(SETS)}")
    parser.add_argument("--quick", action="store_true", help=f"{N_QUICK} images of each kind, a smaller bank")
    parser.add_argument("--made", action="store_true", help="the synthetic surfaces too, every kind of defect")
    parser.add_argument("--peers", action="store_true", help="seconds and CorLoc of the whole job beside other tools")
    options = parser.parse_args()
    names = (options.sets or SETS) if options.data else ()
    measure = measure_peers if options.peers else measure_set
    rows = [measure(name, options.data / name, options.quick) for name in names if (options.data / name).is_dir()]
    rows += [measure_made(kind, options.quick) for kind in DEFECTS] if options.made else []
    absent = [name for name in names if not (options.data / name).is_dir()]
    print(json.dumps({"sets": rows, "skipped": absent}))


if __name__ == "__main__":
    main()
