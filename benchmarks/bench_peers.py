"""The whole job beside what a user would take instead, same images, same network: seconds and CorLoc; last line JSON.

    python benchmarks/bench_peers.py SET [SET ...] [--quick]

A SET holds ``with/``, ``without/`` and ``masks/``.

- ``segvote``: `segvote annotate` in a process of its own, two jobs, everything it writes included.
- ``cam``: a class-activation map as a script of forty lines makes it: the network's maps, averaged over each image, a
  logistic regression of the two folders, its weights read at every cell. A network trained further on a GPU would see
  more; this is the same backbone as it comes.
- ``patchcore``: the distance of cells to those of *without* images, as in bench_defects.py.
- ``slic``: `skimage.segmentation.slic` alone, which says nothing about the object.

Two processes compute, for ``patchcore`` one. ``cam`` and ``patchcore`` give maps, not masks: they are given the
one threshold that is best for the truth of the set; segvote decides alone.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from joblib import Parallel, delayed
from skimage.segmentation import slic
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

from bench_defects import N_BANK, N_QUICK_BANK, PatchMemory, fit, measure_iou, read_mask, shrink
from harness import BAG_LABELS, Given, link_images, measure_seconds, run_parts, start_annotate, wait_for
from segvote import load_run
from segvote.features.networks.lite0 import Lite0Features
from segvote.io.images import list_images, read_image, resize_image
from segvote.run.settings import Settings

JOBS = 2
N_QUICK = 8  # images of each kind
N_LEVELS = 200
CELLS = -1  # which of the network's maps: the last, as class activation takes it


def measure_best(maps: Sequence[np.ndarray], truths: Sequence[np.ndarray]) -> float:
    """CorLoc at the threshold that is best for the set."""
    values = np.concatenate([one.ravel() for one in maps])
    levels = np.quantile(values, 1 - np.geomspace(1e-3, 0.8, N_LEVELS))
    found = [
        [measure_iou(one > level, truth) > 0.5 for one, truth in zip(maps, truths, strict=True)] for level in levels
    ]
    return float(max(np.mean(one) for one in found))


def compute_cells(path: Path) -> np.ndarray:
    return Lite0Features().compute_maps(read_image(path))[CELLS].astype(np.float32)


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


def measure_cam(shown: Sequence[Path], empty: Sequence[Path], truths: Sequence[np.ndarray]) -> dict[str, float]:
    began = time.perf_counter()
    maps = [cv2.resize(one, truth.shape[::-1]) for one, truth in zip(make_cams(shown, empty), truths, strict=True)]
    return {"seconds": time.perf_counter() - began, "corloc": measure_best(maps, truths)}


def measure_patchcore(
    shown: Sequence[Path], empty: Sequence[Path], truths: Sequence[np.ndarray], n_kept: int
) -> dict[str, float]:
    began = time.perf_counter()
    memory = PatchMemory(empty, n_kept)
    maps = [memory.draw_map(read_image(path), truth.shape) for path, truth in zip(shown, truths, strict=True)]
    return {"seconds": time.perf_counter() - began, "corloc": measure_best(maps, truths)}


def measure_slic(paths: Sequence[Path]) -> dict[str, float]:
    began = time.perf_counter()
    Parallel(JOBS)(delayed(cut_slic)(path) for path in paths)
    return {"seconds": time.perf_counter() - began}


def cut_slic(path: Path) -> int:
    image = resize_image(read_image(path), Settings.size)
    return int(slic(image, Settings.n_segments, start_label=0).max())


def measure_segvote(
    source: Path, given: Given, shown: Sequence[Path], truths: Sequence[np.ndarray]
) -> dict[str, float]:
    folder = given.scratch / source.name
    for bag_label in BAG_LABELS:
        link_images(source / bag_label, folder / bag_label, stop=N_QUICK if given.quick else None)
    _, seconds = measure_seconds(lambda: wait_for(start_annotate(folder, folder / "out", JOBS)))
    run = load_run(folder / "out")
    masks = [run.read_mask(run.find(f"with/{path.name}")) for path in shown]
    ious = [measure_iou(fit(mask, truth.shape) > 0, truth) for mask, truth in zip(masks, truths, strict=True)]
    return {"seconds": seconds, "corloc": float(np.mean(np.array(ious) > 0.5))}


def measure_sets(given: Given) -> dict[str, Any]:
    return {
        f"{source.name} {system}": row for source in given.sets for system, row in measure_set(source, given).items()
    }


def measure_set(source: Path, given: Given) -> dict[str, dict[str, float]]:
    shown, empty = (list_images(source / label)[: N_QUICK if given.quick else None] for label in BAG_LABELS)
    truths = [shrink(read_mask(source / "masks" / f"{path.stem}.png")) for path in shown]
    return {
        "segvote": measure_segvote(source, given, shown, truths),
        "cam": measure_cam(shown, empty, truths),
        "patchcore": measure_patchcore(shown, empty, truths, N_QUICK_BANK if given.quick else N_BANK),
        "slic": measure_slic([*shown, *empty]),
    }


if __name__ == "__main__":
    run_parts(__doc__, {"peers": measure_sets})
