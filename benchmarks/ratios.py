"""Seconds of this commit over those of another, measured on the same machine by turns.

    python benchmarks/ratios.py BASE [--rounds N] [--limit RATIO]

Seconds of different machines, or of one machine at different hours, cannot be compared; their ratio in one session can.
Each round runs the quick benchmarks of BASE and of the working tree one after the other; of each figure the smallest
counts. Figures in seconds that both have are listed. A ratio above the limit is exit code 1.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
NAMES = ("voters", "scale", "runs")  # those of `make bench`
LIMIT, ROUNDS = 1.5, 3
SECONDS = ("seconds", "fits")  # a figure with one of these in its name is a time
SHORTEST = 0.05  # seconds: shorter figures are mostly noise


def list_seconds(figures: Mapping[str, Any], path: str = "") -> Iterator[tuple[str, float]]:
    """Names and values of all figures in seconds of a benchmark's last line."""
    for name, value in figures.items():
        here = f"{path}.{name}" if path else name
        if isinstance(value, Mapping):
            yield from list_seconds(value, here)
        elif name != "auc" and any(word in here for word in SECONDS) and isinstance(value, int | float):
            yield here, float(value)


def keep_smallest(rounds: list[dict[str, float]]) -> dict[str, float]:
    """The smallest value of every figure that all rounds have."""
    return {name: min(one[name] for one in rounds) for name in rounds[0] if all(name in one for one in rounds)}


def compare(base: Mapping[str, float], head: Mapping[str, float]) -> dict[str, float]:
    """Ratios of the figures that both have and that are long enough to be measured."""
    return {name: head[name] / base[name] for name in base if name in head and base[name] >= SHORTEST}


def measure(folder: Path, name: str) -> dict[str, float]:
    """Figures in seconds of one quick benchmark of the commit in `folder`."""
    environment = os.environ | {"PYTHONPATH": str(folder / "src")}
    command = [sys.executable, f"benchmarks/bench_{name}.py", "--quick"]
    done = subprocess.run(command, cwd=folder, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    return {f"{name}.{one}": value for one, value in list_seconds(json.loads(done.stdout.splitlines()[-1]))}


def measure_by_turns(folders: list[Path], names: list[str], n_rounds: int) -> list[dict[str, float]]:
    """The smallest figures of each folder."""
    rounds: list[list[dict[str, float]]] = [[] for _ in folders]
    for _ in range(n_rounds):
        for folder, found in zip(folders, rounds, strict=True):
            found.append({key: value for name in names for key, value in measure(folder, name).items()})
    return [keep_smallest(found) for found in rounds]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("base", metavar="BASE")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--limit", type=float, default=LIMIT)
    parser.add_argument("--only", choices=NAMES, help="one benchmark; default: all")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="segvote-base-") as scratch:
        base = Path(scratch) / "base"
        subprocess.run(["git", "worktree", "add", "-q", "--detach", base, given.base], cwd=ROOT, check=True)
        try:
            names = [given.only] if given.only else list(NAMES)
            before, after = measure_by_turns([base, ROOT], names, given.rounds)
        finally:
            subprocess.run(["git", "worktree", "remove", "--force", base], cwd=ROOT, check=True)
    ratios = compare(before, after)
    for name, ratio in sorted(ratios.items(), key=lambda one: -one[1]):
        print(f"{ratio:6.2f}  {before[name]:8.3f} s -> {after[name]:8.3f} s  {name}")
    return int(max(ratios.values(), default=0.0) > given.limit)


if __name__ == "__main__":
    sys.exit(main())
