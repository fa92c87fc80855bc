"""What is each ingredient worth, and each constant? The vote with other `VoteParams`, on every set of the suite.

    python benchmarks/ablation.py [DATA] [--sets cows,tile-fray] [--out build/suite]

Segments, features and neighbours are those of `benchmarks/suite.py`, which is run first where they are missing. Figures
are CorLoc and mean overlap of whole segments, before masks are drawn along superpixels. For every constant and every
set the value is then chosen on all other sets and judged on the one left out. Last line JSON.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from scipy import sparse

from segvote.evaluation.evaluate_segments import MaskedSegments, count_segments, measure_ious
from segvote.evaluation.evaluate_truth import find_truth, list_truth
from segvote.method import SegmentTable, VoteParams
from segvote.method.vote import vote
from segvote.run.settings import Settings
from segvote.steps.annotate import annotate
from segvote.steps.knn_cache import fetch_neighbours
from segvote.steps.reopening import reopen
from suite import list_sets

USUAL = VoteParams()
ROWS: dict[str, VoteParams] = {
    "as it is": USUAL,
    "plain walk only": replace(USUAL, hypotheses=USUAL.hypotheses[:1]),
    "balanced walk only": replace(USUAL, hypotheses=USUAL.hypotheses[1:2]),
    "balanced, connectivity only": replace(USUAL, hypotheses=USUAL.hypotheses[2:]),
    "no contrast in the weights": replace(USUAL, contrast_weight=0.0),
    "no smoothing": replace(USUAL, smoothing=0.0),
    "no border prior": replace(USUAL, border_prior=1.0),
    "likely mislabelled kept": replace(USUAL, exclude_mislabelled=False),
    "no re-votes": replace(USUAL, n_revotes=0),
    "10 steps": replace(USUAL, n_steps=10),
}


def change_hypotheses(name: str, value: float) -> VoteParams:
    """The usual parameters with another value of a field of all hypotheses that use it."""
    changed = (replace(one, **{name: value}) if getattr(one, name) else one for one in USUAL.hypotheses)
    return replace(USUAL, hypotheses=tuple(changed))


# The middle value is the one in use.
CONSTANTS: dict[str, dict[float, VoteParams]] = {
    "temperature": {value: replace(USUAL, temperature=value) for value in (0.01, 0.02, 0.04)},
    "contrast_weight": {value: replace(USUAL, contrast_weight=value) for value in (0.1, 0.2, 0.3)},
    "n_revotes": {value: replace(USUAL, n_revotes=value) for value in (1, 2, 3)},
    "connectivity": {value: change_hypotheses("connectivity", value) for value in (0.2, 0.3, 0.4)},
    "balance": {value: change_hypotheses("balance", value) for value in (0.15, 0.25, 0.35)},
}


@dataclass(frozen=True)
class Voted:
    """A set of the suite, ready for votes; truth by number of the image."""

    table: SegmentTable
    graph: sparse.csr_matrix
    truth: dict[int, MaskedSegments]

    def measure(self, params: VoteParams) -> tuple[float, float]:
        """CorLoc and mean overlap."""
        selected = vote(self.table, self.graph, params).selected
        overlaps = [one.measure(selected[self.table.get_slice(image)]) for image, one in self.truth.items()]
        ious = measure_ious(np.array(overlaps))
        return round(float((ious > 0.5).mean()), 3), round(float(ious.mean()), 4)


def load(folder: Path, out: Path) -> Voted:
    run = annotate(folder / "with", folder / "without", out / folder.name, Settings())
    opened, readers, truth = reopen(run), list_truth(folder / "masks"), {}
    for index, bag in enumerate(run.bags):
        reader = find_truth(readers, bag.name) if bag.bag_label == "with" else None
        if reader is not None:
            truth[index] = count_segments(run.read_segments(index)["labels"], reader(), (bag.height, bag.width))
    neighbours = fetch_neighbours(run.folder, opened.bags, opened.table, run.settings)
    assert neighbours is not None
    return Voted(opened.table, neighbours.build_graph(), truth)


def leave_out(table: np.ndarray) -> np.ndarray:
    """(n_sets,) index of the best of the (n_sets, n_values) columns on all sets but one."""
    return np.array([int(np.argmax(np.delete(table, index, axis=0).mean(axis=0))) for index in range(len(table))])


def print_ablation(sets: dict[str, Voted]) -> dict[str, dict[str, tuple[float, float]]]:
    print("| | " + " | ".join(sets) + " | mean |\n|" + "---|" * (len(sets) + 2))
    found = {}
    for row, params in ROWS.items():
        found[row] = {name: one.measure(params) for name, one in sets.items()}
        cells = [*found[row].values()]
        figures = [f"{corloc:.2f} {miou:.2f}".replace("0.", ".") for corloc, miou in [*cells, np.mean(cells, axis=0)]]
        print(f"| {row} | " + " | ".join(figures) + " |", flush=True)
    return found


def print_constants(sets: dict[str, Voted]) -> dict[str, dict[str, float]]:
    found = {}
    for name, values in CONSTANTS.items():
        table = np.array([[one.measure(params)[1] for params in values.values()] for one in sets.values()])
        chosen = leave_out(table) if len(table) > 1 else np.array([1])
        left_out = round(float(table[np.arange(len(table)), chosen].mean()), 4)
        means = {str(value): round(float(mean), 4) for value, mean in zip(values, table.mean(axis=0), strict=True)}
        print(f"{name:16} {means} | left out {left_out:.4f}", flush=True)
        found[name] = {"left_out": left_out, **means}
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", nargs="?", type=Path, default=Path("../shared/data"))
    parser.add_argument("--sets", default="", help="names, separated by commas")
    parser.add_argument("--out", type=Path, default=Path("build/suite"))
    given = parser.parse_args()
    folders = list_sets(given.data, [name for name in given.sets.split(",") if name])
    sets = {folder.name: load(folder, given.out) for folder in folders}
    print(json.dumps({"ablation": print_ablation(sets), "constants": print_constants(sets)}))


if __name__ == "__main__":
    main()
