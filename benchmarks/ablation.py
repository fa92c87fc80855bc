"""What is each ingredient worth? The method with one of them switched off, on every set of the suite.

    python benchmarks/ablation.py [DATA] [--sets cows,tile-fray] [--out build/suite]

Segments, features and neighbours are those of `benchmarks/suite.py`, which is run first where they are missing. Figures
are CorLoc and mean overlap of whole segments, before masks are drawn along superpixels. Last line JSON.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from unittest import mock

import numpy as np
from scipy import sparse
from segvote.method.hypotheses import HYPOTHESES
from segvote.steps.voting.knn_cache import fetch_neighbours

from segvote.evaluation.evaluate_segments import count_segments, measure_ious
from segvote.evaluation.evaluate_truth import find_truth, list_truth
from segvote.method import SegmentAnnotator, annotator, hypotheses, table
from segvote.method.linear import LinearPosterior
from segvote.run.settings import Settings
from segvote.steps.annotate import annotate
from segvote.steps.reopening import reopen
from suite import list_sets


@contextmanager
def change(*changes: tuple[object, str, object]) -> Iterator[None]:
    with ExitStack() as stack:
        for place, name, value in changes:
            stack.enter_context(mock.patch.object(place, name, value))
        yield


def only(index: int) -> Callable[[], object]:
    """One hypothesis instead of all."""
    kept = (HYPOTHESES[index],)
    # The default value of the parameter was bound when the function was made.
    return lambda: change(
        (hypotheses.weigh_hypotheses, "__defaults__", (None, kept)),
        (annotator, "HYPOTHESES", kept),
    )


def weigh_plainly(n: int, edges: np.ndarray, lengths: np.ndarray, contrasts: np.ndarray) -> sparse.csr_matrix:
    return WEIGH(n, edges, np.ones(len(edges)), np.zeros(len(edges)))


WEIGH = table.weigh_adjacent
NO_CHANGE = ({}, lambda: change())
ROWS: dict[str, tuple[dict[str, object], Callable[[], object]]] = {
    "as it is": NO_CHANGE,
    "plain walk only": ({}, only(0)),
    "balanced walk only": ({}, only(1)),
    "balanced, connectivity only": ({}, only(2)),
    "no contrast in the weights": ({}, lambda: change((hypotheses, "CONTRAST_WEIGHT", 0.0))),
    "no linear classifier": (
        {},
        lambda: change((LinearPosterior, "measure", lambda self, X: np.zeros(len(X)))),
    ),
    "no smoothing": ({"smoothing": 0.0}, NO_CHANGE[1]),
    "smoothing without contrast": ({}, lambda: change((table, "weigh_adjacent", weigh_plainly))),
    "no border prior": ({"border_prior": 1.0}, NO_CHANGE[1]),
    "likely mislabelled kept": ({"exclude_mislabelled": False}, NO_CHANGE[1]),
    "no re-votes": ({}, lambda: change((hypotheses, "N_REVOTES", 0))),
    "10 steps": ({"n_steps": 10}, NO_CHANGE[1]),
}


def measure(folder: Path, out: Path) -> dict[str, tuple[float, float]]:
    """Row to CorLoc and mean overlap."""
    run = annotate(folder / "with", folder / "without", out / folder.name, Settings())
    opened, readers = reopen(run), list_truth(folder / "masks")
    neighbours = fetch_neighbours(run.folder, opened.bags, opened.table, run.settings)
    truth = {}
    for index, bag in enumerate(run.bags):
        reader = find_truth(readers, bag.name) if bag.bag_label == "with" else None
        if reader is not None:
            truth[index] = count_segments(run.read_segments(index)["labels"], reader(), (bag.height, bag.width))
    found = {}
    for name, (parameters, changed) in ROWS.items():
        with changed():
            fitted = SegmentAnnotator(**parameters).fit(
                opened.table.X,
                opened.table.positive[opened.table.bags],
                images=opened.table.bags,
                geometry=opened.table.make_geometry(),
                neighbours=neighbours,
            )
        overlaps = [one.measure(fitted.result_.selected[run.get_slice(index)]) for index, one in truth.items()]
        ious = measure_ious(np.array(overlaps))
        found[name] = (round(float((ious > 0.5).mean()), 3), round(float(ious.mean()), 3))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", nargs="?", type=Path, default=Path("../shared/data"))
    parser.add_argument("--sets", default="")
    parser.add_argument("--out", type=Path, default=Path("build/suite"))
    given = parser.parse_args()
    sets = list_sets(given.data, [name for name in given.sets.split(",") if name])
    table_ = {one.name: measure(one, given.out) for one in sets}
    print("| | " + " | ".join(table_) + " | mean |\n|" + "---|" * (len(table_) + 2))
    for row in ROWS:
        cells = [table_[name][row] for name in table_]
        mean = np.mean(cells, axis=0)
        figures = [f"{corloc:.2f} {miou:.2f}".replace("0.", ".") for corloc, miou in [*cells, mean]]
        print(f"| {row} | " + " | ".join(figures) + " |")
    print(json.dumps(table_))


if __name__ == "__main__":
    main()
