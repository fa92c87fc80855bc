"""Adding and removing images against a fresh run: seconds, their ratio, and how far the weights are apart.

    python benchmarks/bench_update.py [DATA_SET] [--quick] [--jobs N]

DATA_SET is a folder with ``with`` and ``without``; without one, made scenes are used. A tenth of the images is added to
a run on the others, then removed again. Last line JSON.
"""

from __future__ import annotations

import argparse
import json
import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from segvote.datasets import write_scenes
from segvote.io.images import list_images
from segvote.run.run import Run
from segvote.steps.annotate import annotate
from segvote.steps.update import update

TAGS = ("with", "without")


def split(source: Path, folder: Path, every: int) -> None:
    """Links to the images: ``old`` and ``new`` apart, ``all`` together."""
    for bag_label in TAGS:
        for number, path in enumerate(list_images(source / bag_label)):
            for name in ("all", "new" if number % every == every // 2 else "old"):
                target = folder / name / bag_label / path.relative_to(source / bag_label)
                target.parent.mkdir(parents=True, exist_ok=True)
                target.symlink_to(path.resolve())


def measure(function: Callable[[], Run]) -> tuple[Run, float]:
    started = time.perf_counter()
    run = function()
    return run, time.perf_counter() - started


def compare(one: Run, other: Run) -> dict[str, float]:
    """Largest difference of weights, and the share of masks that are the same to the byte."""
    gap = float(np.abs(one.votes["weights"] - other.votes["weights"]).max())
    pairs = [(run.folder.mask_path(bag.stem).read_bytes() for run in (one, other)) for bag in one.bags]
    return {"weight_gap": gap, "same_masks": float(np.mean([left == right for left, right in pairs]))}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data_set", nargs="?", type=Path)
    parser.add_argument("--quick", action="store_true", help="few images")
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    arguments = parser.parse_args()
    n_jobs = arguments.jobs
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        source = arguments.data_set or folder / "scenes"
        if arguments.data_set is None:
            write_scenes(source, *((10, 10) if arguments.quick else (40, 40)))
        split(source, folder, 10)
        names = [f"{bag_label}/{path.relative_to(folder / 'new' / bag_label).as_posix()}" for bag_label in TAGS
                 for path in list_images(folder / "new" / bag_label)]  # fmt: skip
        old, seconds_old = measure(
            lambda: annotate(folder / "old/with", folder / "old/without", folder / "run", n_jobs=n_jobs)
        )
        fresh, seconds_fresh = measure(
            lambda: annotate(folder / "all/with", folder / "all/without", folder / "fresh", n_jobs=n_jobs)
        )
        smaller = Run(shutil.copytree(folder / "run", folder / "copy"))
        more = {"add_with": [folder / "new/with"], "add_without": [folder / "new/without"]}
        added, seconds_add = measure(lambda: update(folder / "run", n_jobs=n_jobs, **more))
        results = {
            "n_images": len(fresh),
            "n_added": len(fresh) - len(old),
            "seconds_fresh": seconds_fresh,
            "seconds_add": seconds_add,
            "ratio_add": seconds_add / seconds_fresh,
            **{f"add_{name}": value for name, value in compare(added, fresh).items()},
        }
        removed, seconds_remove = measure(lambda: update(folder / "run", n_jobs=n_jobs, remove=names))
        results |= {
            "seconds_fresh_small": seconds_old,
            "seconds_remove": seconds_remove,
            "ratio_remove": seconds_remove / seconds_old,
            **{f"remove_{name}": value for name, value in compare(removed, smaller).items()},
        }
    for name, value in results.items():
        print(f"{name:28}{value:12.4g}")
    print(json.dumps(results))


if __name__ == "__main__":
    main()
