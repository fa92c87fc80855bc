"""Whole runs: seconds of `annotate` beside its parts, and the cost of one mask.

    python benchmarks/bench_runs.py [SET] [--part annotate|masks] [--quick] [--jobs N]

- ``annotate``: seconds over those of a program that only reads, segments and runs the network at one look; a second
  voter that needs no other search and a third that does, over the first; the command repeated.
  Without a SET, which holds ``with`` and ``without``, on synthetic scenes.
- ``masks``: CPU seconds and peak memory of one mask, decoding and enlarging included, at 1, 4 and 16 megapixels.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import cv2
import numpy as np

from harness import Given, measure_seconds, read_peak, run_alone, run_annotate, run_parts
from segvote.datasets import make_scenes, make_surfaces, write_scenes
from segvote.io.images import read_picture, resize_labels
from segvote.masks import Drawing, draw_mask
from segvote.masks.lines import LineFilter
from segvote.pipeline.superpixels import segment_superpixels
from segvote.segmentation import SEGMENTERS
from segvote.selection import make_selection

SAME_SEARCH, OTHER_SEARCH = "cam", "negmin"
SIDES = (1000, 2000, 4000)  # 1, 4 and 16 megapixels
ALONE = """
import sys
from joblib import Parallel, delayed
from segvote.features import make_features
from segvote.io.images import list_images, read_image, resize_image
from segvote.settings import Settings
from segvote.segmentation import SEGMENTERS

def work(path, extractor, settings):
    image = read_image(path)
    SEGMENTERS[settings.segmenter](resize_image(image, settings.size), n_segments=settings.n_segments)
    extractor.compute_maps(image)

if __name__ == "__main__":
    settings = Settings()
    n_jobs, *folders = sys.argv[1:]
    extractor = make_features(settings.features, **settings.feature_options)
    paths = [path for folder in folders for path in list_images(folder)]
    Parallel(int(n_jobs))(delayed(work)(path, extractor, settings) for path in paths)
"""


def compare_with_alone(given: Given) -> dict[str, Any]:
    out, script = given.scratch / "out", given.scratch / "alone.py"
    source = given.sets[0] if given.sets else given.scratch / "scenes"
    if not given.sets:
        write_scenes(source, make_scenes(*(2 * [6 if given.quick else 40])))

    def annotate(*options: str) -> float:
        return measure_seconds(lambda: run_annotate(source, out, given.jobs, *options))[1]

    first = annotate()
    n_looks = count_looks(out)
    script.write_text(ALONE)
    command = [sys.executable, script, str(given.jobs), source / "with", source / "without"]
    alone = measure_seconds(lambda: subprocess.run(command, check=True))[1]
    before = _read_processor_time()
    annotate()
    repeated = _read_processor_time() - before
    others = {f"{name}_over_first": annotate("--voter", name) / first for name in (SAME_SEARCH, OTHER_SEARCH)}
    figures = {"seconds": first, "alone": alone, "annotate_over_one_look": first / alone, "n_looks": n_looks}
    return figures | {"repeated_processor_seconds": repeated, **others}


def count_looks(out: Path) -> int:
    """How many votes a run held, by its log: one for each look."""
    steps = [json.loads(line).get("step") for line in (out / "log.jsonl").read_text().splitlines()]
    return steps.count("vote")


def _read_processor_time() -> float:
    spent = resource.getrusage(resource.RUSAGE_CHILDREN)
    return spent.ru_utime + spent.ru_stime


def measure_cost(given: Given) -> dict[str, Any]:
    surface, rows = next(make_surfaces(1, 0, kind="stain", size=SIDES[0], area=(0.04, 0.04))), {}
    for side, way in product(SIDES, ("regions", "lines")):
        path = given.scratch / f"{side}.jpg"
        cv2.imwrite(str(path), cv2.resize(surface.image[..., ::-1], (side, side), interpolation=cv2.INTER_CUBIC))
        seconds, gigabytes = run_alone(draw_one, path, side, surface.mask, way)
        n_mega = side**2 / 1e6
        rows[f"{way}, {n_mega:.0f} Mpx"] = f"{seconds:.2f} s, {seconds / n_mega:.3f} s/Mpx, {gigabytes:.2f} GB"
    return rows


def draw_one(path: Path, side: int, truth: np.ndarray, way: str) -> tuple[float, float]:
    picture = read_picture(path, 400)
    labels = SEGMENTERS["ward"](picture, n_segments=200).labels
    inside = resize_labels(truth, labels.shape)
    shares = np.bincount(labels.ravel(), weights=inside.ravel()) / np.bincount(labels.ravel())
    selection = make_selection(shares, shares > 0.5, 0.5)
    superpixels, drawing = segment_superpixels(picture, labels), Drawing(way, "", LineFilter(0, -1, 0), 3.0, 6.0)
    began = time.process_time()
    mask = draw_mask(selection, labels, shares, superpixels, drawing, side, partial(read_picture, path))
    resize_labels(mask, (side, side))
    return time.process_time() - began, read_peak()


if __name__ == "__main__":
    run_parts(__doc__, {"annotate": compare_with_alone, "masks": measure_cost})
