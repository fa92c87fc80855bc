"""What is each ingredient worth? The default with one of them switched off, on photographs and on made scenes.

    python benchmarks/ablation.py [DATA] [--quick] [--out FOLDER] [--only SET …] [--jobs N]

DATA is a folder of sets, each with ``with``, ``without`` and ``masks``; made scenes are measured in any case.
Segments, features and neighbours are shared between rows and kept in FOLDER (build/ablation), and so is every figure: a
run that was stopped goes on where it was. Delete FOLDER after a change of the code. Last line JSON.

Columns: average precision of the segments, CorLoc and mean overlap of the masks, mean overlap of whole segments, the
same with the best single threshold (chosen with the masks: what no rule can know), and the limit of the segments.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, replace
from functools import cached_property, partial
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from ablation_rows import FIGURES, ROWS, Case, Row, count_votes, get_neighbours, select_maps
from segvote import __version__
from segvote.datasets import write_scenes
from segvote.evaluation.compare_stage import hash_inputs, prepare_stage
from segvote.evaluation.evaluate_truth import list_truth
from segvote.evaluation.stress_tables import draw_bags, flip_tags
from segvote.io.tables import read_json, write_json
from segvote.run.run_folder import make_key
from segvote.run.settings import Settings

MADE: dict[str, dict[str, Any]] = {
    "scenes": {},
    "scenes: four colours": {"appearances": 4},
    "scenes: on the border": {"touch_border": True},
    "scenes: one place": {"shared_scene": True},
    "scenes: large objects": {"object_area": (0.15, 0.4)},
}
ACCIDENTS = {"10 % in the wrong folder": (flip_tags, 0.1), "10 + 10 images": (draw_bags, 10)}
N_DRAWS = 3
HEAD = "| | AP | CorLoc | mIoU | whole segments | best threshold | limit |\n|---|---|---|---|---|---|---|"


class Ablation:
    """All rows of one set; figures that are in a file are not measured again."""

    def __init__(self, folder: Path, out: Path, n_jobs: int) -> None:
        self.folders, self.out, self.n_jobs = (folder / "with", folder / "without"), out, n_jobs
        self.readers = list_truth(folder / "masks", None)
        self.input = hash_inputs(self.folders, self.readers)
        self._cases: dict[int, Case] = {}

    @cached_property
    def settings(self) -> Settings:
        return Settings()

    def measure_rows(self, rows: Sequence[Row]) -> Iterator[tuple[str, dict]]:
        for row in rows:
            yield row.name, self._remember(asdict(row), partial(self._measure, row))

    def measure_accidents(self, accidents: dict) -> Iterator[tuple[str, dict]]:
        for name, (change, level) in accidents.items():
            draws = [
                self._remember({"accident": name, "draw": draw}, partial(self._suffer, change, level, draw))
                for draw in range(N_DRAWS)
            ]
            yield name, {figure: float(np.mean([one[figure] for one in draws])) for figure in FIGURES}

    def _remember(self, what: dict, measure: Callable[[], dict]) -> dict:
        key = make_key(version=__version__, input=self.input, settings=self.settings.to_dict(), **what)
        path = self.out / "figures" / f"{key}.json"
        if not path.is_file():
            write_json(path, measure())
        return read_json(path)

    def _open(self, n_segments: int) -> Case:
        if n_segments not in self._cases:
            settings = replace(self.settings, n_segments=n_segments)
            stage = prepare_stage(self.folders, self.readers, self.out / f"run-{n_segments}", settings, self.n_jobs)
            self._cases[n_segments] = Case.open(stage, self.readers)
        return self._cases[n_segments]

    def _measure(self, row: Row) -> dict:
        settings = row.apply(self.settings)
        case = self._open(settings.n_segments)
        table = select_maps(case.stage.table, row.maps)
        name = f"neighbours-{settings.n_segments}-{''.join(map(str, row.maps)) or 'all'}.npz"
        votes = count_votes(table, settings, get_neighbours(table, self.out / name))
        return case.measure(table, np.arange(len(table.tags)), settings, votes, self.n_jobs)

    def _suffer(self, change: Callable, level: float, draw: int) -> dict:
        case = self._open(self.settings.n_segments)
        table, kept = change(case.stage.table, level, np.random.default_rng(draw))
        # Neighbours stay when only bag labels change.
        whole = len(kept) == len(case.stage.table.tags)
        neighbours = (
            get_neighbours(table, self.out / f"neighbours-{self.settings.n_segments}-all.npz") if whole else None
        )
        return case.measure(table, kept, self.settings, count_votes(table, self.settings, neighbours), self.n_jobs)


def find_sets(data: Path | None, out: Path, quick: bool) -> Iterator[tuple[str, Path]]:
    """Sets below DATA, then made ones."""
    for folder in sorted(data.iterdir()) if data else ():
        if all((folder / name).is_dir() for name in ("with", "without", "masks")) and not quick:
            yield folder.name, folder
    for name, style in list(MADE.items())[: 1 if quick else None]:
        folder = out / "made" / name.replace(": ", "-").replace(" ", "-")
        if not (folder / "masks").is_dir():
            write_scenes(folder, *((8, 8) if quick else (40, 40)), seed=7, **style)
        yield name, folder


def format_row(name: str, figures: dict) -> str:
    cells = [f"{figures[figure]:.3f}".lstrip("0") for figure in FIGURES]
    return f"| {name} | " + " | ".join(cells) + " |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", nargs="?", type=Path)
    parser.add_argument("--quick", action="store_true", help="few made scenes, the fast rows")
    parser.add_argument("--out", type=Path, default=Path("build/ablation"))
    parser.add_argument("--only", action="append", help="name of a set; may be repeated")
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    arguments = parser.parse_args()
    out = arguments.out / "quick" if arguments.quick else arguments.out
    cheap, costly = [row for row in ROWS if row.is_cheap], [row for row in ROWS if not row.is_cheap]
    if arguments.quick:
        costly = [row for row in costly if row.maps]
    results: dict[str, dict] = {}
    for name, folder in find_sets(arguments.data, out, arguments.quick):
        if arguments.only and name not in arguments.only:
            continue
        print(f"\n{name}\n\n{HEAD}")
        ablation, results[name] = Ablation(folder, out / folder.name, arguments.jobs), {}
        accidents = {} if arguments.quick else ACCIDENTS
        measured = chain(
            ablation.measure_rows(cheap), ablation.measure_accidents(accidents), ablation.measure_rows(costly)
        )
        for row, figures in measured:
            results[name][row] = figures
            print(format_row(row, figures), flush=True)
    print(json.dumps(results))


if __name__ == "__main__":
    main()
