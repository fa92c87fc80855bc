"""The whole pipeline with its defaults on every set below a folder, as one table.

    python benchmarks/suite.py [DATA] [--sets cows,steel-patches]

A set is a folder with ``with/``, ``without/`` and ``masks/``. Runs lie in ``build/suite`` and are resumed; figures
are stored with the key of the run. *One choice* is the extent that is best for the set
by its masks, with the figures of the masks drawn at it.

`SuiteArrays` are the runs as arrays, for measurements that hold the vote many times on the same features.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import tempfile
import time
from dataclasses import dataclass, fields, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from segvote import annotate, evaluate
from segvote.evaluation.evaluate import Evaluation
from segvote.evaluation.segments import CountedTruth, count_image, find_run_truth, measure_ious
from segvote.evaluation.truth import list_truth
from segvote.method.confidence import Confidence
from segvote.method.graph import N_NEIGHBORS
from segvote.method.table import Geometry, SegmentTable, make_table
from segvote.method.vote import Vote
from segvote.method.whole_vote import vote_and_judge
from segvote.numerics import Neighbours, search_neighbours
from segvote.pipeline.extent import change_extent
from segvote.pipeline.opening import reopen
from segvote.pipeline.vote import fetch_neighbours
from segvote.report.tables import format_text
from segvote.run.run import Run
from segvote.settings import Settings

N_THRESHOLDS = 60  # tried on the scores of all images alike
Row = dict[str, Any]
MEANS = ("corloc", "miou", "choice_corloc", "choice_miou", "boundary_f")
PER_SEGMENT, PER_EDGE = ("areas", "border", "centres", "prior"), ("lengths", "contrasts")  # of `Geometry`


def make_parser(description: str | None) -> argparse.ArgumentParser:
    """The arguments that choose the sets."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", nargs="?", type=Path, default=Path("../shared/data"))
    parser.add_argument("--sets", default="", help="names, separated by commas")
    parser.add_argument("--out", type=Path, default=Path("build/suite"))
    return parser


def list_sets(given: argparse.Namespace) -> list[Path]:
    """The sets asked for; no videos."""
    chosen = [name for name in given.sets.split(",") if name]
    found = [one.parent for one in sorted(given.data.glob("*/masks")) if not chosen or one.parent.name in chosen]
    found = [one for one in found if not any(path.is_dir() for path in (one / "with").iterdir())]
    if not found:
        raise SystemExit(f"no set with with/, without/ and masks/ below {given.data}")
    return found


def count_truth(run: Run, folder: Path) -> dict[int, CountedTruth]:
    """Number of each *with* image whose mask is known to its truth, counted per segment."""
    readers = find_run_truth(run, list_truth(folder / "masks"))[1]
    return {index: count_image(run, index, read()) for index, read in readers.items()}


# Figures of a set ----------------------------------------------------------------------------------------------------


def measure_set(folder: Path, out: Path, settings: Settings) -> Row:
    """Annotate and evaluate one set, or read the stored figures."""
    started = time.perf_counter()
    run = annotate(folder / "with", folder / "without", out / folder.name, settings)
    seconds = time.perf_counter() - started
    kept = out / f"{folder.name}-{run.record.key}.json"
    if kept.is_file():
        return json.loads(kept.read_text())
    found = evaluate(run, folder / "masks")
    figures, (choice, chosen) = found.to_dict(), measure_choice(run, folder, found)
    row = {
        "name": folder.name,
        "ap": figures["segment_ap"],
        "corloc": figures["corloc"],
        "miou": figures["miou"],
        "limit": figures["limit_miou"],
        "boundary_f": figures["boundary_f"] or 0.0,
        "pixel_f": figures["f_2px"],
        "choice": choice,
        "choice_corloc": float((chosen > found.threshold).mean()),
        "choice_miou": float(chosen.mean()),
        "draw": run.drawing.way,
        "best_threshold": measure_best_threshold(run, count_truth(run, folder)),
        "n_uncertain": sum(bag.uncertainty >= 0.5 for bag in run.bags if bag.bag_label == "with"),
        "n_excluded": sum(bag.excluded for bag in run.bags),
        "confidence": run.confidence.get("value", float("nan")),
        "level": run.confidence.get("level", ""),
        "seconds": seconds,
    }
    row = {name: round(value, 4) if isinstance(value, float) else value for name, value in row.items()}
    kept.write_text(json.dumps(row))
    return row


def measure_choice(run: Run, folder: Path, found: Evaluation) -> tuple[int, np.ndarray]:
    """The best extent for all images, by CorLoc + mIoU of whole segments, and the overlaps of its drawn masks."""
    best = max(found.extents, key=lambda one: one.corloc + one.miou).extent
    if best == run.extent:
        return best, found.ious
    with tempfile.TemporaryDirectory(dir=run.folder.path.parent) as scratch:
        copy = shutil.copytree(run.folder.path, Path(scratch) / "run", copy_function=os.link)
        return best, evaluate(change_extent(copy, best), folder / "masks").ious


def measure_best_threshold(run: Run, counted: dict[int, CountedTruth]) -> float:
    """Mean overlap of whole segments at the best single threshold for all images, chosen with the masks."""
    parts = [(one, run.votes["scores"][run.get_slice(index)]) for index, one in counted.items()]
    levels = np.quantile(np.concatenate([scores for _, scores in parts]), np.linspace(0.2, 0.999, N_THRESHOLDS))
    means = [measure_ious([one.measure(scores > level) for one, scores in parts]).mean() for level in levels]
    return float(max(means))


# Runs as arrays ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class SuiteArrays:
    """Segments of a set as in the run of the suite."""

    name: str
    X: np.ndarray  # (n_segments, d)
    images: np.ndarray  # (n_segments,) number of each segment's image
    positive: np.ndarray  # (n_images,) bag labels
    geometry: Geometry
    truth: tuple[CountedTruth | None, ...]  # of each image; None where nothing is known
    neighbours: Neighbours | None = None  # None where images were taken out

    @cached_property
    def prepared(self) -> tuple[SegmentTable, sparse.csr_matrix]:
        """The input of the method: the table and the graph of nearest neighbours."""
        known = self.neighbours or search_neighbours(self.X, self.X, N_NEIGHBORS, self.images, self.images)
        return make_table(self.X, self.positive, self.images, self.geometry), known.build_graph()

    def vote(self) -> tuple[Vote, Confidence]:
        """The vote with the method's defaults, and its confidence."""
        alternatives, confidence = vote_and_judge(*self.prepared)
        return alternatives[0], confidence

    def measure(self, selected: np.ndarray) -> np.ndarray:
        """Overlap of selected segments (n_segments,) with the truth, of each *with* image whose truth is known."""
        known = [(image, one) for image, one in enumerate(self.truth) if one is not None and self.positive[image]]
        return measure_ious([one.measure(selected[self.images == image]) for image, one in known])

    def take(self, chosen: np.ndarray) -> SuiteArrays:
        """The set of some of its images."""
        kept, place = np.isin(self.images, chosen), np.full(len(self.positive), -1)
        place[chosen] = np.arange(len(chosen))
        old = self.geometry
        edges = kept[old.edges[:, 0]]
        geometry = replace(
            old,
            edges=(np.cumsum(kept) - 1)[old.edges[edges]],
            **{name: getattr(old, name)[kept] for name in PER_SEGMENT},
            **{name: getattr(old, name)[edges] for name in PER_EDGE},
        )
        truth = tuple(self.truth[image] for image in chosen)
        images = place[self.images[kept]]
        return SuiteArrays(self.name, self.X[kept], images, self.positive[chosen], geometry, truth)

    def join(self, other: SuiteArrays) -> SuiteArrays:
        """The images of both sets, those of the other behind."""
        mine, yours = self.geometry, other.geometry
        geometry = replace(
            mine,
            edges=np.concatenate([mine.edges, yours.edges + len(self.X)]),
            **{name: np.concatenate([getattr(mine, name), getattr(yours, name)]) for name in (*PER_SEGMENT, *PER_EDGE)},
        )
        images = np.concatenate([self.images, other.images + len(self.positive)])
        X, positive = np.concatenate([self.X, other.X]), np.concatenate([self.positive, other.positive])
        return SuiteArrays(self.name, X, images, positive, geometry, self.truth + other.truth)


def load_suite(given: argparse.Namespace) -> list[SuiteArrays]:
    """The sets asked for, annotated."""
    return [load_set(one, given.out) for one in list_sets(given)]


def load_set(folder: Path, out: Path) -> SuiteArrays:
    run = annotate(folder / "with", folder / "without", out / folder.name, Settings())
    opened, counted = reopen(run), count_truth(run, folder)
    table = opened.table
    truth = tuple(counted.get(index) for index in range(len(run)))
    neighbours = fetch_neighbours(run.folder, opened.bags, table, run.settings)
    places = Geometry(**{field.name: getattr(table, field.name) for field in fields(Geometry)})
    return SuiteArrays(folder.name, np.asarray(table.X), table.bags, table.bag_labels, places, truth, neighbours)


def main() -> None:
    given = make_parser(__doc__).parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    rows = []
    for one in list_sets(given):
        rows.append(measure_set(one, given.out, Settings()))
        print("{name:16} CorLoc {corloc:.3f} mIoU {miou:.3f}".format(**rows[-1]), flush=True)
    print("\n" + format_text([list(rows[0]), *([str(cell) for cell in row.values()] for row in rows)]) + "\n")
    print(json.dumps({name: round(float(np.mean([row[name] for row in rows])), 4) for name in MEANS}))


if __name__ == "__main__":
    main()
