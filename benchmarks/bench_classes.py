"""Several classes in one call against one run for each: seconds, and CorLoc and mean IoU of every class.

    python benchmarks/bench_classes.py DATA_SET DATA_SET … [--quick] [--jobs N]

Each DATA_SET is a folder with ``with``, ``without`` and ``masks``; its name is the class. The *with* folders become the
class folders, all *without* images that show none of the classes become ``none``. Last line JSON.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from pathlib import Path

from segvote.evaluation.evaluate import evaluate
from segvote.io.images import hash_file, list_images
from segvote.run.run import Run
from segvote.steps.annotate import annotate
from segvote.steps.classes.annotate import annotate_classes


def make_root(sources: list[Path], root: Path, n_most: int | None) -> Path:
    """Links to the images, sorted by class; no image twice."""
    shown = {hash_file(path) for source in sources for path in list_images(source / "with")}
    seen: set[str] = set()
    for source in sources:
        for path in list_images(source / "with")[:n_most]:
            link(path, root / source.name / path.name)
        for path in list_images(source / "without")[:n_most]:
            digest = hash_file(path)
            if digest not in shown | seen:
                seen.add(digest)
                link(path, root / "none" / f"{source.name}-{path.name}")
    return root


def link(path: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    target.symlink_to(path.resolve())


def measure(run: Run, source: Path) -> dict[str, float]:
    figures = evaluate(run, source / "masks").to_dict()
    return {name: figures[name] for name in ("n_images", "corloc", "corloc_low", "corloc_high", "miou")}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data_sets", nargs="+", type=Path)
    parser.add_argument("--quick", action="store_true", help="eight images of each kind")
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    arguments = parser.parse_args()
    n_jobs = arguments.jobs
    sources = arguments.data_sets
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        root = make_root(sources, folder / "root", 8 if arguments.quick else None)
        started = time.perf_counter()
        runs = annotate_classes(root, folder / "together", n_jobs=n_jobs)
        results: dict = {"seconds_together": time.perf_counter() - started, "n_images": len(runs)}
        results["classes"] = {source.name: measure(runs.runs[source.name], source) for source in sources}
        started = time.perf_counter()
        alone = {one: annotate(one / "with", one / "without", folder / one.name, n_jobs=n_jobs) for one in sources}
        results["seconds_alone"] = time.perf_counter() - started
        results["alone"] = {one.name: measure(run, one) for one, run in alone.items()}
    print(json.dumps(results, indent=2))
    print(json.dumps(results))


if __name__ == "__main__":
    main()
