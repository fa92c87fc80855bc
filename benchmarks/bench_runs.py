"""Whole runs: seconds, memory and figures of `annotate`, `update` and `annotate --classes`.

    python benchmarks/bench_runs.py [SET ...] [--part PART] [--quick] [--jobs N]

A SET holds ``with``, ``without`` and ``masks``; without one, synthetic scenes are used.

- ``annotate``: seconds over those of a program that only reads, segments and runs the network, at each input size the
  run looked at; a second voter that needs no other search and a third that does, over the first; the command repeated.
- ``images``: images per second and peak memory of all processes, by the number of images.
- ``update``: adding a tenth of the images to a run and removing it again over a fresh run, and whether masks differ.
- ``classes``: every SET is a class; all at once against one run for each.
"""

from __future__ import annotations

import json
import resource
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image, ImageEnhance, ImageOps

import segvote
from harness import BAG_LABELS, Given, link_images, measure_seconds, run_parts, start_annotate, wait_for, watch_memory
from segvote.io.images import hash_file, list_images

SAME_SEARCH, OTHER_SEARCH = "cam", "negmin"
SIZES, QUICK_SIZES = (200, 600, 2000), (12, 24)
RATES = (0.05, 0.1, 0.2)
MAX_CUT = 12  # pixels at each side
ALONE = """
import sys
from joblib import Parallel, delayed
from segvote.features import make_features
from segvote.io.images import list_images, read_image, resize_image
from segvote.run.settings import Settings
from segvote.segmentation import SEGMENTERS
from segvote.steps.looks import list_levels

def work(path, extractors, settings):
    image = read_image(path)
    SEGMENTERS[settings.segmenter](resize_image(image, settings.size), n_segments=settings.n_segments)
    for extractor in extractors:
        extractor.compute_maps(image)

if __name__ == "__main__":
    settings = Settings()
    n_jobs, n_looks, *folders = sys.argv[1:]
    levels = list_levels(settings)[: int(n_looks)]
    extractors = [make_features(level.features, **level.feature_options) for level in levels]
    paths = [path for folder in folders for path in list_images(folder)]
    Parallel(int(n_jobs))(delayed(work)(path, extractors, settings) for path in paths)
"""


def compare_with_alone(given: Given) -> dict[str, Any]:
    source, out, script = given.take_set(), given.scratch / "out", given.scratch / "alone.py"

    def annotate(*options: str) -> float:
        return measure_seconds(lambda: wait_for(start_annotate(source, out, given.jobs, *options)))[1]

    first = annotate()
    log = [json.loads(line) for line in (out / "log.jsonl").read_text().splitlines()]
    n_looks = sum("extract" in line["worker_seconds"] for line in log if line.get("step") == "bags")
    script.write_text(ALONE)
    command = [sys.executable, script, str(given.jobs), str(n_looks), source / "with", source / "without"]
    alone = measure_seconds(lambda: subprocess.run(command, check=True))[1]
    before = _read_processor_time()
    annotate()
    repeated = _read_processor_time() - before
    others = {f"{name}_over_first": annotate("--voter", name) / first for name in (SAME_SEARCH, OTHER_SEARCH)}
    figures = {"seconds": first, "alone": alone, "annotate_over_alone": first / alone, "n_looks": n_looks}
    return figures | {"repeated_processor_seconds": repeated, **others}


def _read_processor_time() -> float:
    spent = resource.getrusage(resource.RUSAGE_CHILDREN)
    return spent.ru_utime + spent.ru_stime


def measure_images(given: Given) -> dict[str, Any]:
    source, figures, sizes = given.take_set(), {}, QUICK_SIZES if given.quick else SIZES
    for size in sizes:
        folder = given.scratch / str(size)
        write_changed(given.sets or (source,), folder, size)
        started = time.perf_counter()
        peak = watch_memory(start_annotate(folder, folder / "out", given.jobs))
        figures |= {f"images_per_second_{size}": size / (time.perf_counter() - started), f"peak_gb_{size}": peak}
    return figures


def write_changed(sets: Sequence[Path], folder: Path, n_images: int) -> None:
    """Half of the images *with*, half *without*: those of the sets over and over, each time a little different."""
    rng = np.random.default_rng(0)
    for bag_label in BAG_LABELS:
        (folder / bag_label).mkdir(parents=True)
        sources = [path for one in sets for path in list_images(one / bag_label)]
        for index in range(n_images // 2):
            with Image.open(sources[index % len(sources)]) as image:
                changed = change_image(ImageOps.exif_transpose(image).convert("RGB"), rng)
            changed.save(folder / bag_label / f"{index:06}.jpg", quality=92)


def change_image(image: Image.Image, rng: np.random.Generator) -> Image.Image:
    """Mirrored or not, a few pixels cut off, lighter or darker."""
    left, top, right, bottom = (int(cut) for cut in rng.integers(0, MAX_CUT + 1, size=4))
    image = image.crop((left, top, image.width - right, image.height - bottom))
    image = ImageOps.mirror(image) if rng.random() < 0.5 else image
    return ImageEnhance.Brightness(image).enhance(float(rng.uniform(0.85, 1.15)))


def compare_update(given: Given) -> dict[str, Any]:
    source, folder = given.take_set(20), given.scratch
    for bag_label in BAG_LABELS:
        link_images(source / bag_label, folder / "all" / bag_label)
        link_images(source / bag_label, folder / "new" / bag_label, start=5, step=10)
        shutil.copytree(folder / "all" / bag_label, folder / "old" / bag_label, symlinks=True)
        for path in list_images(folder / "new" / bag_label):
            (folder / "old" / bag_label / path.relative_to(folder / "new" / bag_label)).unlink()

    def annotate(name: str) -> tuple[segvote.Run, float]:
        one = folder / name
        return measure_seconds(lambda: segvote.annotate(one / "with", one / "without", one / "out", n_jobs=given.jobs))

    old, seconds_old = annotate("old")
    fresh, seconds_fresh = annotate("all")
    smaller = segvote.Run(shutil.copytree(old.folder.path, folder / "copy"))
    for bag_label in BAG_LABELS:
        shutil.copytree(folder / "new" / bag_label, folder / "old" / bag_label, symlinks=True, dirs_exist_ok=True)
    added, seconds_add = measure_seconds(lambda: segvote.update(old, n_jobs=given.jobs))
    figures = {"n_images": len(fresh), "n_added": len(fresh) - len(old), "ratio_add": seconds_add / seconds_fresh}
    figures["same_masks_add"] = count_same_masks(added, fresh)
    for bag in added.bags:
        if bag.name not in {one.name for one in old.bags}:
            (folder / "old" / bag.name).unlink()
    removed, seconds_remove = measure_seconds(lambda: segvote.update(old, n_jobs=given.jobs))
    same = count_same_masks(removed, smaller)
    return figures | {"ratio_remove": seconds_remove / seconds_old, "same_masks_remove": same}


def count_same_masks(one: segvote.Run, other: segvote.Run) -> float:
    """Share of masks that are the same to the byte."""
    pairs = [[run.folder.mask_path(bag.stem).read_bytes() for run in (one, other)] for bag in one.bags]
    return float(np.mean([left == right for left, right in pairs]))


def compare_classes(given: Given) -> dict[str, Any]:
    sets, root, figures = given.sets or (given.take_set(),), given.scratch / "root", {}
    shown = {hash_file(path) for one in sets for path in list_images(one / "with")}
    for one in sets:
        link_images(one / "with", root / one.name, stop=8 if given.quick else None)
        link_images(one / "without", root / "none" / one.name, stop=8 if given.quick else None)
    for path in list_images(root / "none"):
        if hash_file(path) in shown:
            path.unlink()
    together = given.scratch / "together"
    runs, figures["seconds_together"] = measure_seconds(
        lambda: segvote.annotate_classes(root, together, n_jobs=given.jobs)
    )
    for one in sets:
        alone, seconds = measure_seconds(
            lambda one=one: segvote.annotate(
                one / "with", one / "without", given.scratch / f"alone-{one.name}", n_jobs=given.jobs
            )
        )
        for kind, run in (("together", runs.runs[one.name]), ("alone", alone)):
            found = segvote.evaluate(run, one / "masks").to_dict()
            figures |= {f"{one.name}_{kind}_{name}": found[name] for name in ("corloc", "miou")}
        figures[f"{one.name}_seconds_alone"] = seconds
    return figures


PARTS = {
    "annotate": compare_with_alone,
    "images": measure_images,
    "update": compare_update,
    "classes": compare_classes,
}

if __name__ == "__main__":
    run_parts(__doc__, PARTS)
