"""Shared by the benchmarks: options, scratch folder, figures as JSON; clocks, processes, links to images.

A benchmark is a dictionary of parts, functions from `Given` to figures. The last line that is printed is JSON.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from segvote.io.images import list_images

Result = TypeVar("Result")


@dataclass(frozen=True)
class Given:
    """Options of a benchmark; `sets` are folders with ``with``, ``without`` and perhaps ``masks``."""

    sets: tuple[Path, ...]
    scratch: Path
    quick: bool
    jobs: int


def run_parts(description: str, parts: Mapping[str, Callable[[Given], dict[str, Any]]]) -> None:
    """Run one part, or all, with the arguments of the process."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sets", nargs="*", type=Path, metavar="SET")
    parser.add_argument("--part", choices=list(parts), help="one part; default: all")
    parser.add_argument("--quick", action="store_true", help="small sizes, for a look")
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    given = parser.parse_args()
    results = {}
    for name in [given.part] if given.part else parts:
        with tempfile.TemporaryDirectory(prefix="segvote-bench-") as scratch:
            results[name] = parts[name](Given(tuple(given.sets), Path(scratch), given.quick, given.jobs))
        print(name, format_figures(results[name]), sep="\n", flush=True)
    print(json.dumps(results))


def format_figures(figures: Mapping[str, Any]) -> str:
    return "\n".join(f"  {name:32}{format_figure(one)}" for name, one in figures.items())


def format_figure(figure: Any) -> str:
    if isinstance(figure, dict):
        return ", ".join(f"{name} {format_figure(one)}" for name, one in figure.items())
    return f"{figure:.4g}" if isinstance(figure, float) else str(figure)


def measure_seconds(
    function: Callable[[], Result], clock: Callable[[], float] = time.perf_counter
) -> tuple[Result, float]:
    started = clock()
    result = function()
    return result, clock() - started


def link_images(source: Path, target: Path, start: int | None = None, stop: int | None = None, step: int = 1) -> None:
    """Links to some images of a folder, in their order."""
    for path in list_images(source)[start:stop:step]:
        link = target / path.relative_to(source)
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(path.resolve())


def run_annotate(folder: Path, out: Path, jobs: int, *options: str) -> None:
    """Run `segvote annotate` in its own process."""
    command = [sys.executable, "-m", "segvote", "annotate", str(folder / "with"), str(folder / "without")]
    subprocess.run([*command, "-o", str(out), "--jobs", str(jobs), *options], check=True, stdout=subprocess.DEVNULL)


def run_alone(function: Callable[..., Result], *arguments: Any) -> Result:
    """Call a function in its own process, so that `read_peak` there is the peak of this call."""
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        return pool.submit(function, *arguments).result()


def read_peak() -> float:
    """Peak memory of this process in GB (Linux); that of `getrusage` may be the peak of the parent."""
    return int(re.findall(r"VmHWM:\s+(\d+)", Path("/proc/self/status").read_text())[0]) / 2**20
