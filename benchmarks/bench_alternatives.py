"""One choice by a person: the best alternative, the best extent, and both, on every set below a folder.

    python benchmarks/bench_alternatives.py [DATA] [--sets glands,cows] [--draws 5] [--cost]

A set is a folder with ``with/``, ``without/`` and ``masks/``. Runs lie in ``build/alternatives`` and are resumed;
figures are stored with the key of the run. The choice is made by the truth, once for all images of a set, by CorLoc +
mean IoU of whole segments; the figures are those of the masks drawn by it, or by the default where those are better.
``--draws`` adds the mean over so many draws of 12 + 12 images of each set, by whole segments. ``--cost`` adds seconds
and peak memory of the list over those of the vote. The last line is JSON.
"""

from __future__ import annotations

import json
import tracemalloc
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from harness import measure_seconds
from segvote import annotate
from segvote.evaluation.segments import CountedTruth, find_run_truth, measure_ious
from segvote.evaluation.truth import list_truth
from segvote.io.images import resize_labels
from segvote.method.alternatives import list_alternatives
from segvote.method.extents import N_EXTENTS, Extents, apply_extents, find_extents
from segvote.method.vote import Vote, make_inputs
from segvote.method.vote import vote as hold_vote
from segvote.method.whole_vote import vote_and_judge
from segvote.metrics.overlap import IMAGE_THRESHOLD, measure_iou
from segvote.pipeline.corrected_vote import vote
from segvote.pipeline.extent import draw_selection
from segvote.pipeline.opening import reopen
from segvote.pipeline.vote import BaseVote
from segvote.report.tables import format_text
from segvote.run.alternatives import name_alternative
from segvote.run.corrections import Corrections
from segvote.run.run import Run
from segvote.selection import DEFAULT_EXTENT, Selection
from segvote.settings import Settings
from suite import SuiteArrays, count_truth, list_sets, load_set, make_parser

N_DRAWN = 12  # images of each folder in a draw
COLUMNS = ("default", "extent", "alternative", "both")
Row = dict[str, Any]


@dataclass(frozen=True)
class Choice:
    """One of the things that a run may show, at one extent."""

    number: int  # of the alternative
    level: int


@dataclass(frozen=True)
class Offered:
    """The selections that a person can choose from."""

    selections: Sequence[Selection]  # of each alternative, at the default extent
    extents: Sequence[Extents]

    def select(self, choice: Choice) -> np.ndarray:
        """(n_segments,) bool."""
        return self.extents[choice.number].select(choice.level)

    def apply(self, choice: Choice) -> Selection:
        """The selection as it is drawn."""
        return apply_extents(self.selections[choice.number], self.extents[choice.number], choice.level)

    def find_best(self, measure: Callable[[np.ndarray], np.ndarray]) -> dict[str, Choice]:
        """The best choice of each column, by a measure from a selection to the overlaps (n_images,)."""
        numbers, levels = range(len(self.selections)), range(1, N_EXTENTS + 1)
        default = Choice(0, DEFAULT_EXTENT)
        offers = {
            "default": [default],
            "extent": [default, *(Choice(0, level) for level in levels)],
            "alternative": [Choice(number, DEFAULT_EXTENT) for number in numbers],
            "both": [default, *(Choice(number, level) for number in numbers for level in levels)],
        }
        values = {one: sum(summarise(measure(self.select(one)))) for one in set(offers["both"])}
        return {name: max(choices, key=values.__getitem__) for name, choices in offers.items()}


def offer_votes(votes: Sequence[Vote]) -> Offered:
    selections = [one.selection for one in votes]
    return Offered(selections, [find_extents(one.table, one.selection, one.electorate.graph) for one in votes])


def offer_base(base: BaseVote) -> Offered:
    votes = [base.choose(number) for number in range(len(base.alternatives))]
    return Offered([one.selection for one in votes], [one.find_extents(one.selection) for one in votes])


def summarise(ious: np.ndarray) -> tuple[float, float]:
    """CorLoc and mean IoU."""
    return float((ious > IMAGE_THRESHOLD).mean()), float(ious.mean())


# Whole runs ----------------------------------------------------------------------------------------------------------


def measure_set(folder: Path, out: Path) -> Row:
    """Annotate one set and measure every column on drawn masks, or read the stored figures."""
    run = annotate(folder / "with", folder / "without", out / folder.name, Settings(), n_jobs=1)
    kept = out / f"{folder.name}-{run.record.key}.json"
    if kept.is_file():
        return json.loads(kept.read_text())
    offered, counted = offer_base(vote(reopen(run)).base), count_truth(run, folder)
    best = offered.find_best(lambda selected: measure_counted(run, counted, selected))
    drawn = {choice: measure_drawn(run, folder, offered.apply(choice)) for choice in set(best.values())}
    # What is best by whole segments may be worse than the default once it is drawn.
    best = {name: max(best["default"], choice, key=lambda one: sum(drawn[one])) for name, choice in best.items()}
    row: Row = {"name": folder.name, "level": run.confidence.get("level", ""), "n": len(offered.selections)}
    for name, choice in best.items():
        row |= dict(zip((f"{name}_corloc", f"{name}_miou"), drawn[choice], strict=True))
    row["rank"] = best["alternative"].number + 1
    row["chosen"] = f"{name_alternative(best['both'].number)}{best['both'].level}"
    kept.write_text(json.dumps(row))
    return row


def measure_counted(run: Run, counted: Mapping[int, CountedTruth], selected: np.ndarray) -> np.ndarray:
    """(n_images,) overlaps of whole segments."""
    return measure_ious([one.measure(selected[run.get_slice(index)]) for index, one in counted.items()])


def measure_drawn(run: Run, folder: Path, selection: Selection) -> tuple[float, float]:
    """CorLoc and mean IoU of the masks that are drawn by a selection."""
    ious = []
    for index, read in find_run_truth(run, list_truth(folder / "masks"))[1].items():
        truth, mask = read().mask, draw_selection(run, index, selection, Corrections())
        ious.append(measure_iou(resize_labels(mask, truth.shape), truth))
    return summarise(np.array(ious))


# Draws of few images, and the cost ------------------------------------------------------------------------------------


def measure_draws(arrays: SuiteArrays, n_draws: int) -> Row:
    """Means of every column over draws of few images, by whole segments."""
    rng, found = np.random.default_rng(0), []
    folders = [np.flatnonzero(arrays.positive), np.flatnonzero(~arrays.positive)]
    for _ in range(n_draws):
        chosen = [rng.choice(one, min(N_DRAWN, len(one)), False) for one in folders]
        drawn = arrays.take(np.sort(np.concatenate(chosen)))
        offered = offer_votes(vote_and_judge(*drawn.prepared)[0])
        best = offered.find_best(drawn.measure)
        found.append([summarise(drawn.measure(offered.select(best[name]))) for name in COLUMNS])
    means = np.mean(found, axis=0).ravel()
    names = [f"{name}_{figure}" for name in COLUMNS for figure in ("corloc", "miou")]
    return {"name": arrays.name, **dict(zip(names, means.tolist(), strict=True))}


def measure_cost(arrays: SuiteArrays) -> Row:
    """Seconds and peak memory of the list of alternatives over those of the vote."""
    prepared = arrays.prepared
    base, seconds = measure_seconds(lambda: hold_vote(make_inputs(*prepared)))
    listed, more = measure_seconds(lambda: list_alternatives(base))
    peaks = [measure_peak(lambda: hold_vote(make_inputs(*prepared))), measure_peak(lambda: list_alternatives(base))]
    return {"name": arrays.name, "n": len(listed), "time_ratio": more / seconds, "memory_ratio": peaks[1] / peaks[0]}


def measure_peak(function: Callable[[], Any]) -> int:
    """Peak of the bytes that a call allocates."""
    tracemalloc.start()
    try:
        function()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def print_table(rows: Sequence[Row]) -> dict[str, float]:
    """Print rows and return the means of their figures."""
    cells = [[f"{cell:.3f}" if isinstance(cell, float) else str(cell) for cell in row.values()] for row in rows]
    print("\n" + format_text([list(rows[0]), *cells]) + "\n", flush=True)
    figures = [name for name, cell in rows[0].items() if isinstance(cell, float)]
    return {name: round(float(np.mean([row[name] for row in rows])), 4) for name in figures}


def main() -> None:
    parser = make_parser(__doc__)
    parser.set_defaults(out=Path("build/alternatives"))
    parser.add_argument("--draws", type=int, default=0, help="draws of 12 + 12 images of each set")
    parser.add_argument("--cost", action="store_true", help="seconds and memory of the list")
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    rows, draws, costs = [], [], []
    for folder in list_sets(given):
        rows.append(measure_set(folder, given.out))
        print(json.dumps(rows[-1]), flush=True)
        if given.draws or given.cost:
            arrays = load_set(folder, given.out)
            draws += [measure_draws(arrays, given.draws)] if given.draws else []
            costs += [measure_cost(arrays)] if given.cost else []
    parts = {"whole": rows, "draws": draws, "cost": costs}
    print(json.dumps({name: print_table(part) for name, part in parts.items() if part}))


if __name__ == "__main__":
    main()
