"""Shared by the benchmarks: options, scratch folder, figures as JSON; clocks, memory of processes, links to images.

A benchmark is a dictionary of parts, functions from `Given` to figures. The last line that is printed is JSON.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from segvote.datasets import make_scenes, write_scenes
from segvote.io.images import list_images

BAG_LABELS = ("with", "without")
SAMPLE_EVERY = 0.2  # seconds
Result = TypeVar("Result")


@dataclass(frozen=True)
class Given:
    """Options of a benchmark; `sets` are folders with ``with``, ``without`` and perhaps ``masks``."""

    sets: tuple[Path, ...]
    scratch: Path
    quick: bool
    jobs: int

    def take_set(self, n_quick: int = 12, n_images: int = 80) -> Path:
        """The first set, or synthetic scenes."""
        if self.sets:
            return self.sets[0]
        n_half = (n_quick if self.quick else n_images) // 2
        write_scenes(self.scratch / "scenes", make_scenes(n_half, n_half))
        return self.scratch / "scenes"


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
    return "\n".join(f"  {name:32}{f'{one:.4g}' if isinstance(one, float) else one}" for name, one in figures.items())


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


def start_annotate(folder: Path, out: Path, jobs: int, *options: str) -> subprocess.Popen:
    """`segvote annotate` in a process of its own."""
    command = [sys.executable, "-m", "segvote", "annotate", str(folder / "with"), str(folder / "without")]
    return subprocess.Popen([*command, "-o", str(out), "--jobs", str(jobs), *options], stdout=subprocess.DEVNULL)


def wait_for(process: subprocess.Popen) -> None:
    if process.wait():
        raise SystemExit(f"segvote annotate ended with {process.returncode}")


def watch_memory(process: subprocess.Popen) -> float:
    """Most GB that a process and all that it started held at once, each page counted once (Linux)."""
    peak = 0
    while process.poll() is None:
        peak = max(peak, sum(map(read_memory, list_tree(process.pid))))
        time.sleep(SAMPLE_EVERY)
    wait_for(process)
    return peak / 2**30


def list_tree(pid: int) -> list[int]:
    """A process and all its descendants."""
    found = [pid]
    for one in found:
        for task in Path(f"/proc/{one}/task").glob("*/children"):
            try:
                found += map(int, task.read_text().split())
            except OSError:
                continue  # it ended meanwhile
    return found


def read_memory(pid: int | None = None) -> int:
    """Bytes of a process, of this one by default; a page that several share is divided among them."""
    try:
        lines = Path(f"/proc/{os.getpid() if pid is None else pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0
    return next((1024 * int(line.split()[1]) for line in lines if line.startswith("Pss:")), 0)
