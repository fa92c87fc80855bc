"""Masks with and without a refiner on every set below a folder: overlap, outlines, time and memory.

    python benchmarks/bench_refine.py DATA [--sets cows,potholes] [--refine mobile-sam]

Each set is annotated whole with the defaults, on one core, in a process of its own; the refined run starts from the
segments and features of the plain one, and its time is that of the plain run and of the refiner. Seconds are those of
the processor. Figures are kept in ``build/refine``: an interrupted measurement continues.
"""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from harness import measure_seconds, read_peak, run_alone
from segvote import annotate, evaluate
from segvote.features.networks.sam import Sam
from segvote.report.tables import format_text
from segvote.settings import Settings
from suite import list_sets, make_parser

MEASURES = ("corloc", "miou", "boundary_f", "seconds", "memory_gb")
Row = dict[str, Any]


def measure_set(folder: Path, out: Path, refine: str) -> list[float]:
    """Each measure of one set without and with the refiner; its time is added to that of the plain run."""
    start, target = out / folder.name / "plain", out / folder.name / "refined"
    plain = keep(out / f"{folder.name}-plain.json", folder, start, "")
    if not (out / f"{folder.name}-refined.json").is_file():
        shutil.rmtree(target, ignore_errors=True)
        shutil.copytree(start, target)
    refined = keep(out / f"{folder.name}-refined.json", folder, target, refine)
    refined["seconds"] = plain["seconds"] + refined["refiner_seconds"]
    return [one[name] for name in MEASURES for one in (plain, refined)]


def keep(path: Path, folder: Path, out: Path, refine: str) -> Row:
    """Figures of a run, read where they are kept."""
    if not path.is_file():
        path.write_text(json.dumps(run_alone(measure_run, folder, out, refine)))
    return json.loads(path.read_text())


def measure_run(folder: Path, out: Path, refine: str) -> Row:
    """Annotate one set and compare its masks with the truth."""
    clock = Clock()
    for name in ("embed", "refine"):
        setattr(Sam, name, clock.measure(getattr(Sam, name)))
    started = time.process_time()
    run = annotate(folder / "with", folder / "without", out, Settings(refine=refine), n_jobs=1)
    row: Row = {"seconds": time.process_time() - started, "refiner_seconds": clock.seconds, "memory_gb": read_peak()}
    found = evaluate(run, folder / "masks")
    figures = {name: found.to_dict()[name] or 0.0 for name in ("corloc", "miou", "boundary_f")}
    return {**row, **figures, "draw": run.drawing.way, "ious": found.ious.tolist()}


class Clock:
    """Seconds of the processor that calls of a function take together."""

    seconds = 0.0

    def measure(self, function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any) -> Any:
            result, seconds = measure_seconds(partial(function, *arguments), time.process_time)
            self.seconds += seconds
            return result

        return call


def main() -> None:
    parser = make_parser(__doc__)
    parser.add_argument("--refine", default="mobile-sam")
    parser.set_defaults(out=Path("build/refine"))
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    rows = {}
    for folder in list_sets(given):
        rows[folder.name] = measure_set(folder, given.out, given.refine)
        print(folder.name, *(f"{cell:.3f}" for cell in rows[folder.name]), flush=True)
    rows["mean"] = list(np.mean(list(rows.values()), axis=0))
    header = ["set", *(f"{name}{mark}" for name in MEASURES for mark in ("", " refined"))]
    print(format_text([header, *([name, *(f"{cell:.3f}" for cell in cells)] for name, cells in rows.items())]))


if __name__ == "__main__":
    main()
