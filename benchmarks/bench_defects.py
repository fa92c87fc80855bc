"""Defects on surfaces: segvote beside a nearest-neighbour anomaly detector; last line JSON.

    python benchmarks/bench_defects.py [DATA [SET ...]] [--quick] [--made] [--peers]

DATA holds sets of ``with/``, ``without/`` and ``masks/``. The peer follows PatchCore (Roth et al., 2022) on the maps of
segvote's network: cells of stride 8, each joined with the cell of stride 16 it lies in, both averaged over 3 x 3; a
memory bank of the cells of *without* images thinned by a greedy coreset; the distance to the nearest of it, upsampled
and blurred. It sees no *with* image, and is given the threshold that is best for the truth; segvote sees both folders
and decides alone (``mask_iou``, ``corloc``). Both have half of the *without* images; the other half are the negatives
of the image-level AUROC.

``--peers`` compares seconds and CorLoc of the whole job instead, with all images: ``segvote annotate`` in a process of
its own with two jobs; ``cam``, a class-activation map (the network's last map, a logistic regression of the two folders
on its means, the weights read at every cell); and the anomaly detector. The last two are given the best threshold.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import cv2
import faiss
import numpy as np
from joblib import Parallel, delayed
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.preprocessing import StandardScaler

from harness import format_figures, link_images, measure_seconds, start_annotate, wait_for
from segvote import annotate, load_run, predict
from segvote.datasets import DEFECTS, make_surfaces, write_scenes
from segvote.features.networks.lite0 import Lite0Features
from segvote.io.images import list_images, read_image
from segvote.io.masks import read_mask
from segvote.metrics import measure_iou
from segvote.run.run import Run

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


def measure_peer(folder: Path, truths: list[np.ndarray], n_kept: int) -> dict[str, float]:
    began, memory = time.perf_counter(), PatchMemory(list_images(folder / "without"), n_kept)
    maps = draw_maps(memory, list_images(folder / "with"), truths)
    # All at one size: the blur is in pixels of the map.
    clean = [memory.draw_map(read_image(path), truths[0].shape) for path in list_images(folder / "held-out")]
    return {
        **measure_images([float(one.max()) for one in maps], [float(one.max()) for one in clean]),
        **measure_pixels(maps, truths),
        "seconds": time.perf_counter() - began,
    }


def draw_maps(memory: PatchMemory, paths: Sequence[Path], truths: Sequence[np.ndarray]) -> list[np.ndarray]:
    return [memory.draw_map(read_image(path), truth.shape) for path, truth in zip(paths, truths, strict=True)]


def measure_segvote(folder: Path, truths: list[np.ndarray]) -> dict[str, float]:
    run, seconds = measure_seconds(lambda: annotate(folder / "with", folder / "without", folder / "out"))
    clean = predict(run.folder.path, folder / "held-out", folder / "predicted")
    places = [run.find(f"with/{path.name}") for path in list_images(folder / "with")]
    scores = [run.votes["scores"][run.get_slice(place)] for place in places]
    maps = [
        fit(values.take(run.read_segments(place)["labels"]), truth.shape)
        for place, values, truth in zip(places, scores, truths, strict=True)
    ]
    ious = measure_masks(run, places, truths)
    return {
        **measure_images([float(one.max()) for one in scores], [image.score for image in clean.images]),
        **measure_pixels(maps, truths),
        "mask_iou": float(ious.mean()),
        "corloc": float((ious > 0.5).mean()),
        "seconds": seconds,
    }


def measure_masks(run: Run, places: Sequence[int], truths: Sequence[np.ndarray]) -> np.ndarray:
    found = zip(places, truths, strict=True)
    return np.array([measure_iou(fit(run.read_mask(place), truth.shape) > 0, truth) for place, truth in found])


def fit(values: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """A map of single values at another size."""
    return cv2.resize(values.astype(np.float32), shape[::-1], interpolation=cv2.INTER_NEAREST)


# A set ---------------------------------------------------------------------------------------------------------------


def read_truths(source: Path, paths: Sequence[Path]) -> list[np.ndarray]:
    """Masks of images, at the size at which pixels are judged."""
    truths = [read_mask(source / "masks" / f"{path.stem}.png") for path in paths]
    factors = [min(1.0, LONGEST / max(truth.shape)) for truth in truths]
    return [
        cv2.resize(truth, None, fx=factor, fy=factor, interpolation=cv2.INTER_NEAREST)
        for truth, factor in zip(truths, factors, strict=True)
    ]


def measure_set(name: str, source: Path, quick: bool) -> dict:
    """Both systems on at most `N_QUICK` images of each kind, or all; every second *without* image is held out."""
    n_images, n_kept = (N_QUICK, N_QUICK_BANK) if quick else (None, N_BANK)
    with tempfile.TemporaryDirectory(prefix="segvote-bench-") as scratch:
        folder = Path(scratch)
        link_images(source / "with", folder / "with", stop=n_images)
        link_images(source / "without", folder / "without", stop=n_images, step=2)
        link_images(source / "without", folder / "held-out", start=1, stop=n_images, step=2)
        truths = read_truths(source, list_images(folder / "with"))
        row = {"peer": measure_peer(folder, truths, n_kept), "segvote": measure_segvote(folder, truths)}
    for system, figures in row.items():
        print(f"{name}, {system}", format_figures(figures), sep="\n", flush=True)
    return {"set": name, **row}


def measure_made(kind: str, quick: bool) -> dict:
    """A set of synthetic surfaces, 0.2 % of each damaged."""
    with tempfile.TemporaryDirectory(prefix="segvote-bench-") as folder:
        write_scenes(folder, make_surfaces(20, 40, kind=kind, area=(0.002, 0.002)))
        return measure_set(f"made-{kind}", Path(folder), quick)


# The whole job beside other tools ------------------------------------------------------------------------------------


def make_cams(shown: Sequence[Path], empty: Sequence[Path]) -> list[np.ndarray]:
    """(height, width) class activation of each cell of the *with* images, from 0 to 1 in each image as is the habit."""
    maps = Parallel(JOBS)(delayed(Lite0Features().compute_maps)(read_image(path)) for path in [*shown, *empty])
    cells = [one[-1].astype(np.float32) for one in maps]
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


def measure_peers(name: str, source: Path, quick: bool) -> dict:
    n_images, n_kept = (N_QUICK // 3, N_QUICK_BANK) if quick else (None, N_BANK)
    shown, empty = (list_images(source / part)[:n_images] for part in ("with", "without"))
    truths = read_truths(source, shown)
    with tempfile.TemporaryDirectory(prefix="segvote-bench-") as scratch:
        folder = Path(scratch)
        for part in ("with", "without"):
            link_images(source / part, folder / part, stop=n_images)
        seconds = {"segvote": measure_seconds(lambda: wait_for(start_annotate(folder, folder / "out", JOBS)))[1]}
        run = load_run(folder / "out")
        ious = measure_masks(run, [run.find(f"with/{path.name}") for path in shown], truths)
    corloc = {"segvote": float((ious > 0.5).mean())}
    makers = {
        "cam": lambda: make_cams(shown, empty),
        "patchcore": lambda: draw_maps(PatchMemory(empty, n_kept), shown, truths),
    }
    for system, make in makers.items():
        maps, seconds[system] = measure_seconds(make)
        corloc[system] = measure_best_corloc(maps, truths)
    for system in corloc:
        print(f"{name:16} {system:10} {seconds[system]:.1f} s, CorLoc {corloc[system]:.2f}", flush=True)
    return {"set": name, "seconds": seconds, "corloc": corloc}


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
